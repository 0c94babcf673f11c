"""Benchmarks, one file per question; `make bench` runs those that compare side by side.

    make bench                                      # every question of `everything.py`
    make bench CASE=training                        # one file: python -m benchmarks.training
    make bench CASE=scaling ARGS="--out results/bench"

Every file has `--help` and can write its figures as JSON.
"""
