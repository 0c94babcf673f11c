"""The module tree and signatures of the PyTorch side of `ncps` 1.0.1, and a loader for its checkpoints.

Replace `ncps` by `liquidtime.compat.ncps` in an import line and the program runs on the cells of this library.
"""

from liquidtime.compat.ncps import torch, wirings
from liquidtime.compat.ncps.checkpoints import convert_state_dict, load_state_dict

__all__ = ["convert_state_dict", "load_state_dict", "torch", "wirings"]
