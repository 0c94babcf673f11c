"""Comparison models that read whole series, one file per model; they are used like a layer."""

from liquidtime.baselines.series.bidirectional import BidirectionalRNN
from liquidtime.baselines.series.ip_net import IPNet
from liquidtime.baselines.series.latent_ode import LatentODE
from liquidtime.baselines.series.model import SequenceModel
from liquidtime.baselines.series.mtand import MTAND
from liquidtime.baselines.series.mtand_full import MTANDFull
from liquidtime.baselines.series.rnn_vae import RNNVAE
from liquidtime.baselines.series.seft import SeFT
from liquidtime.baselines.series.transformer import Transformer

__all__ = [
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
