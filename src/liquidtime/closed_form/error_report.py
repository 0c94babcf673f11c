"""The error of a compiled network relative to its differential equation, and its speed-up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ErrorReport:
    """The measured error of a compiled network relative to a fine solution of its equation.

    Both start from the same state and run over the same samples, so errors build up over a series as they do in use.
    Only `mse_step` is the error of single steps, each starting from the state of the fine solution.

    Attributes:
        method: "paper", "paper as printed", "hold" or "midpoint".
        mse: mean squared error of the potentials of neurons over all samples.
        mse_per_neuron: the same for each neuron, one tuple per cell.
        mse_step: mean squared error of one step.
        mse_output: mean squared error of the outputs of the layer.
        max_error: the largest error of any potential.
        state_variance: variance of the potentials over samples, averaged over neurons, for comparison with `mse`.
        reference: the fine solver, with its steps per sample after halving.
        reference_unfolds: number of these steps.
        reference_change: largest change of a potential or output by the last halving.
        reference_settled: whether this change is too small to matter, see `measure`.
        own_solver: the solver of the layer before it was compiled, and its steps per sample.
        seconds: time of one run of the compiled layer, the best of several.
        speedup: speed-up over the layer with its own solver, timed alternately with the compiled one, both in the plain
            loop.
        speedup_fine: speed-up over the fine solver.
        series: number of series.
        samples: number of samples in all series, without padding.
        dt_range: the shortest and the longest interval.

    """

    method: str
    mse: float
    mse_per_neuron: tuple[tuple[float, ...], ...]
    mse_step: float
    mse_output: float
    max_error: float
    state_variance: float
    reference: str
    reference_unfolds: int
    reference_change: float
    reference_settled: bool
    own_solver: str
    seconds: float
    speedup: float
    speedup_fine: float
    series: int
    samples: int
    dt_range: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values for JSON."""
        plain = asdict(self)
        plain["mse_per_neuron"] = [list(cell) for cell in self.mse_per_neuron]
        plain["dt_range"] = list(self.dt_range)
        return plain

    def __str__(self) -> str:
        shortest, longest = self.dt_range
        settled = "" if self.reference_settled else ", not settled: errors of that size are meaningless"
        rows = [
            ("method", self.method),
            ("against", f"{self.reference}, last halving changed {self.reference_change:.1e}{settled}"),
            ("measured on", f"{self.samples} samples in {self.series} series, dt {shortest:.3g} to {longest:.3g}"),
            ("mean squared error", f"{self.mse:.2e} (state variance {self.state_variance:.2e})"),
            ("  of one step", f"{self.mse_step:.2e}"),
            ("  of the outputs", f"{self.mse_output:.2e}"),
        ]
        for index, cell in enumerate(self.mse_per_neuron):
            name = "  worst neuron" if len(self.mse_per_neuron) == 1 else f"  worst neuron, cell {index}"
            worst = max(range(len(cell)), key=lambda i: cell[i])
            rows.append((name, f"{cell[worst]:.2e} (neuron {worst})"))
        rows += [
            ("largest error", f"{self.max_error:.2e}"),
            ("time of a run", f"{1e3 * self.seconds:.2f} ms"),
            ("speed-up", f"{self.speedup:.2f} over {self.own_solver}"),
            ("", f"{self.speedup_fine:.2f} over {self.reference}"),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)
