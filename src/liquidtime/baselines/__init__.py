"""Comparison models: `recurrent` cells, models of whole `series`, and `classical` ones such as gradient boosting."""

from liquidtime.baselines.series import (
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
