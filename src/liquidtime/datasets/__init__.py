"""The paper's data, one file a set. A data set never sees a model."""

from collections.abc import Callable

from liquidtime.datasets.driving import driving, driving_run
from liquidtime.datasets.files import DataNotFound
from liquidtime.datasets.imdb import imdb
from liquidtime.datasets.physionet2012 import physionet2012
from liquidtime.datasets.sequences import Sequences, Split
from liquidtime.datasets.walker2d import walker2d
from liquidtime.datasets.xor import xor, xor_split

DATASETS: dict[str, Callable[..., Split]] = {
    "xor": xor_split,
    "physionet2012": physionet2012,
    "imdb": imdb,
    "walker2d": walker2d,
    "driving": driving,
}
"""Every data set in parts; each takes `protocol` and `seed`, and `data_dir` where it has files."""

__all__ = [
    "DATASETS",
    "DataNotFound",
    "Sequences",
    "Split",
    "driving",
    "driving_run",
    "imdb",
    "physionet2012",
    "walker2d",
    "xor",
    "xor_split",
]
