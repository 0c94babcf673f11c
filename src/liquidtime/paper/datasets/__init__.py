"""The paper's data sets, one file each. A data set never sees a model."""

from collections.abc import Callable

from liquidtime.paper.datasets.car_racing import car_racing
from liquidtime.paper.datasets.driving import driving
from liquidtime.paper.datasets.files import DataNotFound
from liquidtime.paper.datasets.imdb import imdb
from liquidtime.paper.datasets.physionet2012 import physionet2012
from liquidtime.paper.datasets.recall import recall_split
from liquidtime.paper.datasets.sequences import Sequences, Split
from liquidtime.paper.datasets.walker2d import walker2d
from liquidtime.paper.datasets.xor import xor, xor_split

DATASETS: dict[str, Callable[..., Split]] = {
    "xor": xor_split,
    "physionet2012": physionet2012,
    "imdb": imdb,
    "walker2d": walker2d,
    "driving": driving,
    "recall": recall_split,
}
"""Every recorded or generated data set; each takes `protocol` and `seed`, and `data_dir` if it has files.

`car_racing` is not among them, because it drives in a simulator when it is called."""

__all__ = [
    "DATASETS",
    "DataNotFound",
    "Sequences",
    "Split",
    "car_racing",
    "driving",
    "imdb",
    "physionet2012",
    "recall_split",
    "walker2d",
    "xor",
    "xor_split",
]
