"""A fitted estimator as a notebook shows it, besides the diagram of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

_NAMES = 12


def fitted_facts(model: Any) -> dict[str, str]:
    """Return what a fitted estimator has learned from, in words; nothing where it is not fitted.

    Args:
        model: the estimator.
    """
    if not hasattr(model, "networks_"):
        return {}
    encoder = model.encoder_
    weights = sorted({sum(parameter.numel() for parameter in network.parameters()) for network in model.networks_})
    sizes = f"{weights[0]:,}" if len(weights) == 1 else f"{weights[0]:,} to {weights[-1]:,}"
    facts = {
        "trained on": f"{model.n_series_:,} series",
        "channels": _listed(encoder.channels_),
        "static features": _listed(encoder.static_names_),
        "time unit": encoder.time_unit_ or "none",
        "networks": f"{len(model.networks_)} with {sizes} weights{'' if len(model.networks_) == 1 else ' each'}",
        "seed": str(model.seed_ if model.random_state is None else model.random_state),
    }
    for name, values in model._facts().items():
        facts[name] = _listed(values)
    return facts


def facts_html(model: Any) -> str:
    """Return the facts as an HTML table that needs nothing from outside; "" where the model is not fitted."""
    cell = '<td style="text-align:left;padding-right:1em">'
    rows = [
        f"<tr>{cell}{escape(name)}</td>{cell}{escape(value)}</td></tr>" for name, value in fitted_facts(model).items()
    ]
    return f"<table><tbody>{''.join(rows)}</tbody></table>" if rows else ""


def _listed(names: Iterable[object]) -> str:
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:_NAMES]) or "none"
    return f"{shown} and {len(texts) - _NAMES} more" if len(texts) > _NAMES else shown
