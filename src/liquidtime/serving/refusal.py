"""Errors of callers, as an HTTP status with a code for programs and a text for people."""

from __future__ import annotations


class Refused(Exception):
    """A request that is refused as a whole; nothing was changed.

    Args:
        status: status of the HTTP answer.
        code: one word for programs, such as "late_sample".
        message: what was needed, what was sent, and what to do.
        at: place in the body, such as "samples[2].time"; empty if there is none.
    """

    def __init__(self, status: int, code: str, message: str, at: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.at = status, code, message, at

    def within(self, place: str) -> Refused:
        """Return the same refusal with an outer place added, such as "samples[2]"."""
        joined = f"{place}{'' if not self.at or self.at.startswith('[') else '.'}{self.at}"
        return Refused(self.status, self.code, self.message, joined)
