"""What a caller did wrong, as an HTTP status with a code for programs and a text for people."""

from __future__ import annotations


class Refused(Exception):
    """A request that is refused whole; nothing has changed.

    Args:
        status: of the HTTP answer.
        code: one word that programs can compare, e.g. "late_sample".
        message: what was needed, what came, what to do.
        at: where in the body, e.g. "samples[2].time"; empty where no place is to blame.
    """

    def __init__(self, status: int, code: str, message: str, at: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.at = status, code, message, at

    def within(self, place: str) -> Refused:
        """Return the same refusal with its place named from further out, e.g. "samples[2]"."""
        joined = f"{place}{'' if not self.at or self.at.startswith('[') else '.'}{self.at}"
        return Refused(self.status, self.code, self.message, joined)
