from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Debug


@command
def info(
    model: Annotated[Path | None, typer.Argument(metavar="[MODEL]", help="Model folder written by `train`.")] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Describe a model folder, or, without one, the installed versions and this machine."""
    from liquidtime.cli.printing import Printer

    printer = Printer(as_json)
    facts = _installed() if model is None else _model(model)
    if not as_json:
        width = max(map(len, facts))
        for name, value in facts.items():
            if name == "test" and value is not None:
                from liquidtime.evaluation.job_record import figures_of

                printer.scores(figures_of(value), "on the test part, with 95 % confidence intervals")
            elif value is not None:
                printer.line(f"{name:{width}}  {_text(value)}")
    printer.result(facts)


def _installed() -> dict[str, Any]:
    import platform

    import numpy
    import torch

    import liquidtime
    from liquidtime.ops import backend, live_backend
    from liquidtime.ops.native import library
    from liquidtime.training.devices import available

    live = live_backend()
    return {
        "liquidtime": liquidtime.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "backend": f"native ({library.target()}, up to {library.cores()} cores)" if live == "native" else live,
        "requested backend": backend(),
        "kernels": library.why_missing() or "built",
        "bf16 products": _bf16(live),
        "devices": available(),
        "kernels of the CfC scan": _scans(),
        "GPUs": "not tested by the authors, who have none; benchmarks/gpu.py measures the speed",
    }


def _scans() -> dict[str, str]:
    """Return what runs the scan of a CfC on each type of device."""
    from liquidtime.ops.cfc_scan.triton import missing
    from liquidtime.ops.native import library

    cpu = library.why_missing()
    gpu = missing()
    return {
        "cpu": "native" if cpu is None else "plain loop",
        "cuda": "Triton" if gpu is None else f"plain loop ({gpu})",
        "others": "plain loop",
    }


def _bf16(live: str) -> str:
    from liquidtime.ops.native import library

    if live == "native" and library.bf16_unit() != "emulated":
        return library.bf16_unit()
    return "emulated: rounding on top of float32 products, slower"


def _model(folder: Path) -> dict[str, Any]:
    import json

    from liquidtime.scoring.model_files import load

    estimator, record = load(folder)
    config = json.loads((folder / "config.json").read_bytes())
    encoders, networks = estimator.encoders_, estimator.networks_
    widths = [encoder.bin_width or "samples" for encoder in encoders]
    weights = sorted({sum(parameter.numel() for parameter in network.parameters()) for network in networks})
    facts: dict[str, Any] = {
        "kind": type(estimator).__name__,
        "parts": _parts(estimator),
        "network": config["params"]["network"],
        "networks": config["members"],
        "weights of each": weights[0] if len(weights) == 1 else weights,
        "trained on": f"{config['series']:,} series",
        "channels": list(encoders[0].channels_),
        "static features": list(encoders[0].static_names_) or None,
        "time unit": encoders[0].time_unit_,
        "time scales": widths if len(widths) > 1 else None,
        "classes": config["learned"].get("classes"),
        "seed": estimator.seed_ if estimator.random_state is None else estimator.random_state,
        "versions": config["versions"],
    }
    if record is not None:
        facts |= {
            "target": record.target,
            "auxiliary targets": list(record.auxiliary) or None,
            "columns": record.columns,
            "split": dict(record.split) or None,
            "test": record.test or None,
        }
    return facts


def _parts(estimator: Any) -> list[str] | None:
    """Return the parts of a stacked model with their weights; None for other models."""
    parts = getattr(estimator, "parts_", None)
    return None if parts is None else [f"{part.name} {part.weight:.2f}" for part in parts]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items() if item not in (None, [], ()))
    if isinstance(value, list | tuple):
        shown = ", ".join(map(str, value[:12]))
        return f"{shown} and {len(value) - 12} more" if len(value) > 12 else shown
    return str(value)
