"""README.md of a model folder, which describes the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

FRONT_MATTER = "---\nlibrary_name: liquidtime\ntags:\n- time-series\n- irregular-sampling\n---\n\n"
"""Part of a card that the Hugging Face hub reads."""
_USE = """import liquidtime as lt

model = lt.load("this folder")
model = lt.{kind}.from_pretrained("owner/name")  # from the Hugging Face hub"""
_MARKUP = re.compile(r"[&<>\[\]()!|`*~#\\]")


def model_card(
    config: Mapping[str, Any], weights: Sequence[int], purpose: str, parts: Sequence[str] = (), seed: int | None = None
) -> str:
    """Return the card.

    Args:
        config: the contents of config.json.
        weights: number of weights of each network.
        purpose: what the model does: "This model <purpose>.".
        parts: of a stacked model with their weights, in words; none for networks alone.
        seed: that was given to a stacked model; None for that of the networks.
    """
    encoder, params, kind = config["encoders"][0], config["params"], config["kind"]
    if parts:
        kind = kind.replace("CfC", "StackedStep" if params.get("per_step") else "Stacked")
    name = params["network"] if isinstance(params["network"], str) else params["network"]["callable"]
    classes = config["learned"].get("classes")
    facts = [
        f"Trained on {config['series']:,} series with the channels {_some(encoder['channels'])}.",
        f"Static features: {_some(encoder['static_names'])}." if encoder["static_names"] else "No static features.",
        f"Times in {_plain(encoder['time_unit'] or 'numbers without a unit')}"
        + (f", in bins of {encoder['bin_width']:g}." if encoder["bin_width"] else ", every sample as it is."),
        f"Classes: {_some([str(item) for item in classes])}." if classes else "",
        f"Networks by turns: {_scales(config['encoders'])}." if len(config["encoders"]) > 1 else "",
        f"Weighted mean of {_some(parts)}." if parts else "",
        f"{config['members']} network(s) {_plain(name)} of {_numbers(weights)} weights, seed {_seed(config, seed)}.",
    ]
    figures = [f"| {_plain(key)} | {_plain(value)} |" for key, value in sorted(config["metrics"].items())]
    settings = [f"| {_plain(key)} | {_plain(value)} |" for key, value in sorted(params.items())]
    made_with = ", ".join(f"{package} {number}" for package, number in config["versions"].items())
    parts = [
        FRONT_MATTER + f"# A {kind}",
        f"This model {purpose}.",
        f"```python\n{_USE.format(kind=kind)}\n```",
        "\n".join(f"- {fact}" for fact in facts if fact),
        "## Figures\n\n" + ("| figure | value |\n|---|---|\n" + "\n".join(figures) if figures else "None were stored."),
        "## Settings\n\n| setting | value |\n|---|---|\n" + "\n".join(settings),
        "## Limits\n\nThe model knows what its training series showed. Test it on data of your own before you rely on "
        "it, and again when the way of measuring changes.",
        f"Made with {made_with}. `manifest.json` has the sha256 of every file.",
    ]
    return "\n\n".join(parts) + "\n"


def _numbers(counts: Sequence[int]) -> str:
    least, largest = min(counts), max(counts)
    return f"{least:,}" if least == largest else f"{least:,} to {largest:,}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(_plain(name) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "none"


def _plain(text: Any) -> str:
    """Return a text that Markdown displays unchanged, without HTML, links, tables or emphasis."""
    shown = "".join(character if character.isprintable() else " " for character in str(text)[:200])
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", shown)


def _scales(encoders: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"bins of {one['bin_width']:g}" if one["bin_width"] else "samples as they are" for one in encoders)


def _seed(config: Mapping[str, Any], stacked: int | None) -> int:
    """Return the seed from the settings, or otherwise the one that was drawn."""
    given = config["params"].get("random_state") if stacked is None else stacked
    return given if isinstance(given, int) else int(config["seed"])
