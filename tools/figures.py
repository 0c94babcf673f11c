"""Write the figures of README and the docs from the files in results/: `make figures`; a test checks that they agree.

A page holds a whole table between two marks, or a single figure:

    <!-- figures: portfolio -->            a table of TABLES
    <!-- end -->
    <!-- results/compile_ltc.json: runs.0.error .1e -->1.7e-05<!-- end -->      a key of a file, and its format

A pattern with several files gives their mean; `mean±` before the format adds the standard deviation over the files.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import HONEST
from liquidtime.paper.models.lane.networks import LANE_MODELS
from liquidtime.paper.pages import lines
from liquidtime.paper.pages.driving import driving_rows
from liquidtime.paper.pages.lane import lane_rows
from liquidtime.paper.pages.markdown import cells, head
from liquidtime.paper.pages.portfolio import LOWER, portfolio_rows
from liquidtime.paper.runner import read_results

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
SINGLE = re.compile(r"(<!-- (results/[^:]+): ([\w.-]+) (mean±)?(\.\d[efg%]|d) -->)[^<]*(<!-- end -->)")

# What the sets of the portfolio are, in words, in the order of the table.
SETS = {
    "physionet2012": ("death in intensive care (PhysioNet 2012, set b)", "AUC"),
    "P19": ("sepsis, per stay (PhysioNet 2019)", "AUC"),
    "P19-hours": ("sepsis within hours, at every hour", "AUC"),
    "PLAID": ("appliance from its current (PLAID)", "accuracy"),
    "CharacterTrajectories50": ("letter from the pen, half the samples dropped", "accuracy"),
    "ASAS": ("kind of variable star (ASAS)", "accuracy"),
    "cmapss": ("cycles left of a jet engine (C-MAPSS)", "RMSE ↓"),
    "storms": ("path and wind of a storm, forecast", "MSE ↓"),
    "beijing": ("air in Beijing, forecast", "MSE ↓"),
    "physionet2012-forecast": ("vital signs, forecast", "MSE·10³ ↓"),
}
RIVALS = {"lightgbm": "LightGBM", "boosting": "HistGradientBoosting", "multirocket-hydra": "MultiRocket-Hydra"}
# Rows of the paper's experiments that are compared with it, by experiment.
PAPER = {
    "physionet": ["mm_rnn", "no_gate", "cfc", "estimator", "estimator_five", "boosting"],
    "xor": ["cfc", "mm_rnn", "cfc_tuned"],
    "xor-dense": ["mm_rnn", "cfc"],
    "walker2d": ["mm_rnn", "mm_rnn_tuned", "no_gate", "transformer_searched"],
    "imdb": ["mm_rnn_all", "mm_rnn_all_five", "mm_rnn"],
}
SPEED = {
    "tiny": "training step, B16 T100 H19",
    "small": "training step, small",
    "xor": "training step, the paper's XOR size, B128 T32 H192 U128",
    "walker2d": "training step, the paper's Walker2D size",
    "continuous": "training step, continuous-time models",
    "ltc": "training step of an LTC",
    "step": "one sample",
    "sequence": "one whole sequence",
}


@cache
def portfolio() -> str:
    """Return the table of the defaults on various data sets, each next to the best of its rivals.

    Both figures are means over the seeds that both models have. A positive lead means that liquidtime is better,
    whichever direction its metric has.
    """
    rows = {(row["set"], row["model"]): row for row in portfolio_rows(RESULTS)}
    table = head("data", "metric", "liquidtime", "best rival", "liquidtime is", "by (95 % interval)", "seeds")
    for name, (title, metric) in SETS.items():
        rivals = [rows[name, model] for model in RIVALS if (name, model) in rows]
        lower = rivals[0]["metric"] in LOWER
        best = (min if lower else max)(rivals, key=lambda row: row["value"])
        rival = f"{number(best['value'])} ({RIVALS[best['model']]})"
        verdict, lead = lead_of(best, lower)
        own, seeds = number(best["default"]), str(len(best["seeds"]))
        table.append(cells(title, metric, own, rival, verdict, lead, seeds))
    return "\n".join(table) + "\n"


def lead_of(rival: dict[str, Any], lower: bool) -> tuple[str, str]:
    """Return whether the default is ahead of a rival, and by how much, with the interval where there is one."""
    sign = 1 if lower else -1
    digits = 1 if rival["value"] >= 10 else 2 if rival["value"] >= 1 else 3
    if rival["difference"] is None:
        return "–", f"{sign * (rival['value'] - rival['default']):+.{digits}f}, no interval".replace("-", "−")
    middle, *ends = (sign * value for value in rival["difference"])
    low, high = sorted(ends)
    verdict = "**ahead**" if low > 0 else "behind" if high < 0 else "level"
    text = f"{middle:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return verdict, text.replace("-", "−")


def number(value: float) -> str:
    """Return a figure with three digits that count."""
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def paper() -> str:
    """Return our figures next to the paper's, for the rows of PAPER."""
    table = head("experiment", "model", "paper", "ours", "seeds")
    for name, models in PAPER.items():
        experiment = EXPERIMENTS[name]
        ours = {line.title: line for line in lines(experiment, read_results(RESULTS, name)) if line.protocol == HONEST}
        unit = " %" if experiment.task.metric == "accuracy" else ""
        for model in models:
            row = experiment.rows.get(model)
            line = ours.get(row.title) if row is not None else None
            if line is None:
                sys.exit(f"{name} has no results of {model}; it has {', '.join(experiment.rows)}")
            printed = (
                "–"
                if line.paper is None or line.why is None
                else mean(line.paper.value, line.paper.deviation, experiment.digits) + unit
            )
            figure = mean(fmean(line.values), line.deviation, experiment.digits) + unit
            table.append(cells(experiment.title, line.title, printed, figure, str(len(line.values))))
    return "\n".join(table) + "\n"


def driving() -> str:
    """Return interventions per kilometre in closed loop, of networks trained without noise and with it."""
    rows = {row["model"]: row for row in driving_rows(RESULTS)}
    table = head("network", "clean", "noise", "noise, trained with noise", "half of the frames lost", "seeds")
    for name in LANE_MODELS:
        plain, noisy = rows.get(name), rows.get(f"{name}_noise")
        if plain is not None:
            clean, noise, lost = (rate_of(plain, condition) for condition in ("clean", "noise", "dropped"))
            hardened = "–" if noisy is None else rate_of(noisy, "noise")
            seeds = str(plain["n"]) if noisy is None else f"{plain['n']}, {noisy['n']}"
            table.append(cells(plain["title"], clean, noise, hardened, lost, seeds))
    return "\n".join(table) + "\n"


def lane() -> str:
    """Return the errors of steering on recordings, with the features as they are and centred, and the worst seed."""
    rows = {row["model"]: [1000 * value for value in row["mse"]] for row in lane_rows(RESULTS)}
    table = head("network", "features as they are", "features centred", "its worst seed", "seeds")
    for name, model in LANE_MODELS.items():
        plain, centred = rows.get(name, []), rows.get(f"{name}_centred", [])
        if plain and centred:
            figures = [mean(fmean(each), stdev(each) if len(each) > 1 else None, 2) for each in (plain, centred)]
            table.append(cells(model.title, *figures, f"{max(centred):.2f}", f"{len(plain)}, {len(centred)}"))
    return "\n".join(table) + "\n"


def rate_of(row: dict[str, Any], condition: str) -> str:
    """Return a rate with its interval."""
    return "{:.1f} ({:.1f}…{:.1f})".format(*row["per_kilometre"][condition])


def mean(value: float, deviation: float | None, digits: int) -> str:
    """Return a mean with its deviation, where there is one."""
    return f"{value:.{digits}f}" if deviation is None else f"{value:.{digits}f} ± {deviation:.{digits}f}"


def speed() -> str:
    """Return how many times faster the kernels were than others, in the one run of results/bench/bench.json."""
    claims = json.loads((RESULTS / "bench" / "bench.json").read_text())["conclusions"]["claims"]
    table = head("what", "compared with", "one thread", "two threads")
    for claim in claims:
        target = claim["target"]
        if claim["case"] in SPEED and target["measure"] == "speedup" and claim["values"]:
            times = [f"{claim['values'][threads]:.1f} ×" if threads in claim["values"] else "–" for threads in "12"]
            table.append(cells(SPEED[claim["case"]], f"`{target['other']}`", *times))
    return "\n".join(table) + "\n"


def physionet() -> str:
    """Return the classifier's defaults trained on set a and tested on set b, and in five folds of set a."""
    record = json.loads((RESULTS / "physionet_defaults.json").read_text())
    table = head("model", "AUC on set b", "95 % interval", "AUC in five folds of set a")
    folds = record["cross_validation"]
    single = [run["auc"]["value"] for run in record["singles"]]
    rows = [(f"one network ({len(single)} seeds)", mean(fmean(single), stdev(single), 3), "–", folds["network"])]
    for title, name in (("five networks together", "ensemble"), ("gradient boosting on summary features", "boosting")):
        auc = record[name]["auc"]
        rows.append((title, f"{auc['value']:.3f}", f"{auc['low']:.3f} to {auc['high']:.3f}", folds[name]))
    table += [cells(title, value, span, mean(fold["mean"], fold["sd"], 3)) for title, value, span, fold in rows]
    return "\n".join(table) + "\n"


def deployed() -> str:
    """Return what a sample with its prediction costs, in the library and outside of it."""
    record = json.loads((RESULTS / "bench" / "deployed_sample.json").read_text())
    spent = record["microseconds"]
    table = head("how", "microseconds", "relative to `model.update`")
    for title, name in (("`model.update` in Python", "model.update"), ("onnxruntime", "onnxruntime"), ("C", "C")):
        table.append(cells(title, f"{spent[name]:.0f}", f"{spent[name] / spent['model.update']:.2f}"))
    return "\n".join(table) + f"\n\n{load_of(record['load'])}, in one run of `python -m benchmarks.deployed_sample`.\n"


def serving() -> str:
    """Return what a request costs a service, with one client and with eight."""
    record = json.loads((RESULTS / "bench" / "serving-sqlite.json").read_text())
    loop = record["plain_loop"]
    table = head("", "processor time", "per second and core", "median answer", "99th percentile")
    row = ("`model.update` in a loop, no HTTP, nothing stored", f"{loop['processor_ms_per_update']:.2f} ms")
    table.append(cells(*row, f"{loop['updates_per_second_and_core']:,.0f}", "–", "–"))
    for name, run in record.items():
        if name.startswith("clients_"):
            title = f"SQLite, {run['clients']} client{'s' * (run['clients'] > 1)}"
            row = (title, f"{run['processor_ms_per_request']:.2f} ms", f"{run['requests_per_second_and_core']:,.0f}")
            table.append(cells(*row, f"{run['p50_ms']:.1f} ms", f"{run['p99_ms']:.0f} ms"))
    return "\n".join(table) + f"\n\n{load_of(record['load_before'])}.\n"


def epochs() -> str:
    """Return the time of an epoch of a few models of each experiment, and how many epochs their settings have."""
    record = json.loads((RESULTS / "epoch_time.json").read_text())
    table = head("experiment", "model", "seconds per epoch", "epochs in the settings", "minutes per seed, at most")
    for name in ("physionet", "xor", "walker2d", "imdb"):
        for model in ("cfc", "no_gate", "mm_rnn", "lstm"):
            row = EXPERIMENTS[name].rows[model]
            seconds, count = record[name]["models"][model]["seconds_per_epoch"], row.settings.epochs
            table.append(cells(name, f"`{model}`", f"{seconds:.1f}", str(count), f"{seconds * count / 60:.0f}"))
    return "\n".join(table) + "\n"


def stored() -> str:
    """Return what packing, training and predicting a set larger than memory took, beside the same in memory."""
    record = json.loads((RESULTS / "bench" / "stored_set.json").read_text())
    table = head("", "series", "rows", "processor seconds", "peak of memory")
    copies = sorted({int(name.split()[1].rstrip("x")) for name in record})
    packed = {k: record[f"pack {k}x"] for k in copies}
    for k in copies:
        facts = (f"{packed[k]['series']:,}", f"{record[f'shards {k}x']['rows'] / 1e6:.1f} million")
        for stage, title in (
            ("pack", "pack"),
            ("on_disk", "train and predict from disk"),
            ("in_memory", "train and predict in memory"),
        ):
            if run := record.get(f"{stage} {k}x"):
                times = [run[part] for part in ("read_s", "fit_s", "predict_s") if part in run]
                spent = " + ".join(f"{seconds:.1f}" for seconds in times) or f"{run['cpu_s']:.1f}"
                table.append(cells(title, *facts, spent, f"{run['peak_mb']:,} MB"))
    return "\n".join(table) + "\n"


def ranks() -> str:
    """Return what a step of each share of a batch takes, and the speed-up worked out from it."""
    rows = json.loads((RESULTS / "bench" / "ranks.json").read_text())["rows"]
    table = head("units", "ranks", "rows per rank", "step", "sent per rank and step", *rows[0]["speed_up"])
    for row in rows:
        speed_up = [f"{value:.1f}" for value in row["speed_up"].values()]
        share = str(-(-row["batch"] // row["ranks"]))
        step, sent = f"{row['step_ms']:.0f} ms", f"{row['sent_mb']:.1f} MB"
        table.append(cells(str(row["hidden"]), str(row["ranks"]), share, step, sent, *speed_up))
    return "\n".join(table) + "\n"


def load_of(load: float) -> str:
    """Return how busy the machine was, as the beginning of a sentence."""
    return f"Measured on a machine of two cores at load {load:.0f}"


def demo() -> str:
    """Return the end of what `liquidtime demo` prints, as results/demo.txt has it (`make picture` writes it)."""
    text = (RESULTS / "demo.txt").read_text()
    shown = [line for line in text[text.index("training on") :].splitlines() if line.strip()]
    return "```\n$ liquidtime demo\n…\n" + "\n".join(shown) + "\n```\n"


TABLES: dict[str, Callable[[], str]] = {
    "portfolio": portfolio,
    "demo": demo,
    "paper": paper,
    "driving": driving,
    "lane": lane,
    "speed": speed,
    "physionet": physionet,
    "epochs": epochs,
    "deployed": deployed,
    "serving": serving,
    "stored": stored,
    "ranks": ranks,
}


def single(pattern: str, key: str, deviation: str | None, form: str) -> str:
    """Return the figure under a key of one file, or the mean over several."""
    values = []
    for path in sorted(ROOT.glob(pattern)):
        value: Any = json.loads(path.read_text())
        for word in key.split("."):
            value = value[int(word)] if isinstance(value, list) else value[word]
        values.append(value)
    if not values:
        sys.exit(f"there is no {pattern}")
    text = f"{fmean(values) if len(values) > 1 else values[0]:{form}}"
    return f"{text} ± {stdev(values):{form}}" if deviation and len(values) > 1 else text


def renewed(text: str) -> str:
    """Return a page with all its figures as the files have them."""
    text = BLOCK.sub(lambda found: found.group(1) + TABLES[found.group(2)]() + found.group(3), text)
    return SINGLE.sub(lambda found: found.group(1) + single(*found.group(2, 3, 4, 5)) + found.group(6), text)


def pages() -> list[Path]:
    """Return the pages that may hold figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> None:
    """Write every page whose figures changed."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    for path in pages():
        text = path.read_text()
        if (new := renewed(text)) != text:
            path.write_text(new)
            print(f"{path.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
