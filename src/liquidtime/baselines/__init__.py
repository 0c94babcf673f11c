"""The paper's other models that are not a single step after another: used like a layer, over whole series."""

from collections.abc import Callable
from functools import partial

from liquidtime.baselines.bidirectional import BidirectionalRNN
from liquidtime.baselines.ip_net import IPNet
from liquidtime.baselines.latent_ode import LatentODE
from liquidtime.baselines.model import SequenceModel
from liquidtime.baselines.mtand import MTAND
from liquidtime.baselines.mtand_full import MTANDFull
from liquidtime.baselines.rnn_vae import RNNVAE
from liquidtime.baselines.seft import SeFT
from liquidtime.baselines.transformer import Transformer

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
