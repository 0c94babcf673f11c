"""What a network learned."""

from liquidtime.insight.gate_times import gate_times

__all__ = ["gate_times"]
