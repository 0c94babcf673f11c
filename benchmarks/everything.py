"""Every question that is measured side by side, in one run."""

from __future__ import annotations

from benchmarks import cells, memory, one_sample, ragged, scaling, training, whole_sequence
from benchmarks.side_by_side import Questions, ask

QUESTIONS = Questions.joined(
    *(module.QUESTIONS for module in (training, one_sample, whole_sequence, cells, ragged, memory, scaling))
)


if __name__ == "__main__":
    ask(QUESTIONS, __doc__)
