"""The paper's other models that are not a single step after another: used like a layer, over whole series."""

from collections.abc import Callable
from functools import partial

from liquidtime.baselines.series.bidirectional import BidirectionalRNN
from liquidtime.baselines.series.ip_net import IPNet
from liquidtime.baselines.series.latent_ode import LatentODE
from liquidtime.baselines.series.model import SequenceModel
from liquidtime.baselines.series.mtand import MTAND
from liquidtime.baselines.series.mtand_full import MTANDFull
from liquidtime.baselines.series.rnn_vae import RNNVAE
from liquidtime.baselines.series.seft import SeFT
from liquidtime.baselines.series.transformer import Transformer

BASELINES: dict[str, Callable[..., SequenceModel]] = {
    "ip_net": IPNet,
    "seft": SeFT,
    "rnn_vae": RNNVAE,
    "latent_ode_rnn": partial(LatentODE, encoder="rnn"),
    "latent_ode": partial(LatentODE, encoder="ode_rnn"),
    "mtand": MTAND,
    "mtand_full": MTANDFull,
    "transformer": Transformer,
    "bidirectional": BidirectionalRNN,
}
"""Functions of (input_size, hidden_size, **options) to a model."""

__all__ = [
    "BASELINES",
    "MTAND",
    "RNNVAE",
    "BidirectionalRNN",
    "IPNet",
    "LatentODE",
    "MTANDFull",
    "SeFT",
    "SequenceModel",
    "Transformer",
]
