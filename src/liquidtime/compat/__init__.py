"""The interfaces of other libraries, implemented with the networks of this one."""

from liquidtime.compat import ncps

__all__ = ["ncps"]
