"""Which kinds of model leave Python for which target, and how far is each from the library?

    python -m benchmarks.kinds_by_target --out results/deploy/kinds_by_target.json [KIND ...]

One tiny model per kind is fitted to random series with gaps, a category and static features, and exported to the
step, ONNX, C (compiled by gcc; in float32, and with 8-bit weights beside the model with those weights) and a web page
(opened in Chromium). A cell is the largest difference after any sample of 20 series, in probabilities, or in standard
deviations of the targets; promised is 5e-6. A bare layer is one ONNX file. The result is written after every kind,
and the same command again does what is left.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import liquidtime as lt
from liquidtime.cells import WiredCfCCell
from liquidtime.export.graphs import advance_graph, read_graph
from liquidtime.export.of_model import step_of
from liquidtime.export.run import run
from liquidtime.export.vectors import BOUND, as_tensors, differences, vectors_of
from liquidtime.wirings import AutoNCP

TINY: dict[str, Any] = {"hidden_size": 6, "read_out_units": 6, "epochs": 1, "random_state": 0, "budget": "quick"}
VARIANTS = ("cfc", "no_gate", "cf_s", "cf_s_paper")


def data(S: int = 12) -> lt.SeriesSet:
    """Return series with gaps, a category and static features."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 40, S)
    N = int(lengths.sum())
    times = np.concatenate([np.cumsum(rng.exponential(1.0, n)) for n in lengths])
    values = np.column_stack([5 + 2 * np.sin(times), np.exp(rng.normal(size=N)), rng.integers(0, 3, N)])
    values[rng.random(values.shape) < 0.4] = np.nan
    return lt.SeriesSet(
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        times=times,
        values=values,
        channels=("a", "b", "k"),
        ids=np.arange(S),
        static=np.column_stack([rng.normal(50, 10, S), rng.integers(0, 2, S)]),
        static_names=("age", "ward"),
        time_unit="h",
        categories={"k": ("low", "mid", "top"), "ward": ("east", "west")},
    )


def plain(S: int = 12) -> lt.SeriesSet:
    """Return series of numbers alone."""
    rng = np.random.default_rng(1)
    return lt.SeriesSet.from_arrays([(np.sort(rng.random(20)) * 9, rng.normal(size=(20, 2))) for _ in range(S)])


def classifier(series: lt.SeriesSet | None = None, **settings: Any) -> Any:
    own = data() if series is None else series
    return lt.CfCClassifier(**TINY | settings).fit(own, np.arange(len(own)) % 2)


def regressor(**settings: Any) -> Any:
    return lt.CfCRegressor(**TINY | settings).fit(data(), 100.0 * np.arange(12) % 7)


def _per_sample(kind: Any, target: Callable[[int], Any]) -> Any:
    own = data()
    return kind(per_step=True, **TINY).fit(own, target(len(own.times)))


def _several_labels() -> Any:
    y = np.stack([np.arange(12) % 2, np.arange(12) % 3 == 0], axis=1)
    return lt.CfCMultiLabelClassifier(**TINY).fit(data(), y)


def forecaster(**settings: Any) -> Any:
    return lt.CfCForecaster(**{name: value for name, value in TINY.items() if name != "budget"} | settings).fit(data())


def _wired(width: int) -> Any:
    return WiredCfCCell(width, AutoNCP(9, 4))


KINDS: dict[str, Callable[[], Any]] = {
    "classifier": classifier,
    "classifier, numbers alone": lambda: classifier(plain()),
    "classifier, three networks": lambda: classifier(n_estimators=3),
    "classifier, several scales": lambda: classifier(n_estimators=3, bin_width="scales"),
    "classifier, bins": lambda: classifier(bin_width=3.0),
    "classifier of samples": lambda: _per_sample(lt.CfCClassifier, lambda n: np.arange(n) % 3),
    "several labels": _several_labels,
    "regressor": regressor,
    "regressor of samples": lambda: _per_sample(lt.CfCRegressor, lambda n: 1e3 * np.sin(np.arange(n))),
    "forecaster": forecaster,
    "forecaster, known channel, bins": lambda: forecaster(known=["b"], bin_width=2.0),
    "forecaster, two networks, GRU": lambda: forecaster(n_estimators=2, network="gru"),
    **{
        f"classifier, {network}": (lambda network=network: classifier(network=network))  # type: ignore[misc]
        for network in ("no_gate", "cf_s", "cf_s_paper", "cfc_mm", "ltc", "gru", "lstm", "rnn")
    },
    "classifier, wired CfC": lambda: classifier(network=_wired),
    "regressor, two networks, LSTM, bins": lambda: regressor(n_estimators=2, network="lstm", bin_width=3.0),
    "regressor, LTC, several scales": lambda: regressor(n_estimators=2, network="ltc", bin_width="scales"),
    "forecaster, LTC": lambda: forecaster(network="ltc"),
    "forecaster, mixed memory": lambda: forecaster(network="cfc_mm"),
    "classifier, two layers, mixed memory": lambda: classifier(num_layers=2, network="cfc_mm"),
    "classifier, two layers": lambda: classifier(num_layers=2),
    "classifier, two layers of LSTM": lambda: classifier(num_layers=2, network="lstm"),
    "classifier, transformer": lambda: classifier(network="transformer"),
    **{f"layer, CfC {variant}": (lambda variant=variant: lt.CfC(3, 8, variant=variant)) for variant in VARIANTS},  # type: ignore[misc]
    "layer, CfC, mixed memory, two layers": lambda: lt.CfC(3, 8, mixed_memory=True, num_layers=2),
    "layer, CfC, wired": lambda: lt.CfC(3, wiring=AutoNCP(12, 3)),
    "layer, LTC": lambda: lt.LTC(3, 8),
    "layer, LTC, wired": lambda: lt.LTC(3, wiring=AutoNCP(12, 3)),
}


def stepped(model: Any) -> float:
    """Return the largest difference of the step's graphs from the library."""
    step = step_of(model)
    advance, read = advance_graph(step), read_graph(step)
    largest = 0.0
    for vector in vectors_of(step, None):
        state = step.start(1)
        own: dict[str, torch.Tensor] = {"doubles": state.doubles, "floats": state.floats}
        static, known = (part[None] for part in as_tensors(vector.static))
        for k, t in enumerate(vector.times):
            values, seen = (part[None] for part in as_tensors(vector.values[k]))
            sample = {"t": torch.tensor([t], dtype=torch.float64), "values": values, "seen": seen}
            sample |= {"static": static, "known": known}
            after = run(advance, own | sample)
            own = {"doubles": after["doubles_after"], "floats": after["floats_after"]}
            asked = {"static": static, "known": known}
            if vector.questions is not None:
                future, given = as_tensors(vector.questions.future[k])
                asked |= {"asked": torch.tensor([vector.questions.asked[k]]), "future": future[None]}
                asked |= {"given": given[None], "coverage": torch.tensor([vector.questions.coverage[k]])}
            said = run(read, own | asked)["prediction"][0].numpy()
            largest = max(largest, differences(step, vector.predictions[k], said))
    return largest


def opened(page: Path, profile: str) -> float:
    """Return what a page says of its own check, in a browser."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    options += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}"]
    words = ["chromium", *options, "--dump-dom", page.absolute().as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
    said = re.search(r"Checked: largest difference (\S+) ", done.stdout)
    if said is None:
        raise RuntimeError(f"the page {page} did not pass its own check")
    return float(said[1])


def row_of(model: Any) -> dict[str, Any]:
    """Return the differences of one model by target, or why it cannot leave."""
    if isinstance(model, lt.layers.Recurrent):
        with tempfile.TemporaryDirectory() as name:
            return {"onnx": lt.export.onnx(model, Path(name) / "rnn.onnx").largest_difference}
    try:
        cells: dict[str, Any] = {"step": stepped(model)}
    except ValueError as refusal:
        return {"refused": str(refusal)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cells["onnx"] = lt.export.onnx(model, folder / "onnx").largest_difference
        if shutil.which("gcc"):
            cells["c"] = lt.export.c(model, folder / "c").largest_difference
            cells["c int8"] = lt.export.c(model, folder / "int8", int8=True).largest_difference
        if all(shutil.which(tool) for tool in ("clang", "wasm-ld", "chromium")):
            lt.export.web(model, folder / "web", int8=False)
            cells["web"] = opened(folder / "web" / "index.html", str(folder / "profile"))
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"some of: {'; '.join(KINDS)}")
    parser.add_argument("--out", type=Path, help="JSON file")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows: dict[str, Any] = {}
    if given.out is not None and given.out.exists():
        rows = json.loads(given.out.read_text())["kinds"]
    for kind in given.kinds or KINDS:
        if kind in rows:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows[kind] = row_of(KINDS[kind]())
        sys.stdout.write(f"{kind}: {json.dumps(rows[kind])}\n")
        sys.stdout.flush()
        if given.out is not None:
            given.out.parent.mkdir(parents=True, exist_ok=True)
            ordered = {name: rows[name] for name in KINDS if name in rows}
            given.out.write_text(json.dumps({"bound": BOUND, "kinds": ordered}, indent=1) + "\n")
    numbers = [cell for row in rows.values() for cell in row.values() if not isinstance(cell, str)]
    sys.stdout.write(f"largest difference {max(numbers, default=0.0):.2g} in {len(numbers)} cells\n")
    return int(max(numbers, default=0.0) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
