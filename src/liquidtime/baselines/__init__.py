"""Comparison models: `recurrent` cells, models of whole `series`, and `classical` ones such as gradient boosting."""

from liquidtime.baselines.series import (
    BASELINES,
    MTAND,
    RNNVAE,
    BidirectionalRNN,
    IPNet,
    LatentODE,
    MTANDFull,
    SeFT,
    SequenceModel,
    Transformer,
)

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
