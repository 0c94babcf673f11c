"""The faces of other libraries, over the networks of this one."""

from liquidtime.compat import ncps

__all__ = ["ncps"]
