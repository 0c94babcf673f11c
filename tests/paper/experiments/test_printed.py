"""The tables are the paper's, and everything in them is read."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from liquidtime.paper.experiments import EXPERIMENTS, printed, published
from liquidtime.paper.fitting import Settings
from paper.small_runs import cheap, shrink_head, shrink_xor, small_run, written
from real_data import PAPER, REAL

TABLES = json.loads((Path(__file__).parent / "paper_tables.json").read_text())
"""The rows of the paper's tables, cell by cell, by label."""
LINES = {"Hidden size": "hidden_size"}
COLUMNS = ("cf_s", "cfc", "no_gate", "mm_rnn")


@pytest.mark.data(PAPER)
def test_the_stored_tables_are_those_of_the_papers_source():
    (file,) = (REAL / PAPER).glob("0*.txt")
    text = file.read_text()
    for label, rows in TABLES.items():
        end = text.index(rf"\label{{{label}}}")
        body = text[text.rindex(r"\begin{tabular}", 0, end) : end]
        cells = [[cell.strip() for cell in row.split("&")] for row in re.split(r"\\\\", body)]
        assert rows == [row for row in cells if len(row) > 1]


@pytest.mark.parametrize(
    ("label", "ours"),
    [
        ("tab:hyperparamsxor", printed.XOR),
        ("tab:hyperparamsphysionet", printed.PHYSIONET),
        ("tab:hyperparamsimdb", printed.IMDB),
        ("tab:hyperparamswalker2d", printed.WALKER2D),
    ],
)
def test_tables_are_as_printed(label, ours):
    seen = set()
    for name, *cells in TABLES[label]:
        name = name.replace("\\_", "_").replace(r"\midrule", "").strip()
        field = LINES.get(name, name)
        if field not in {part.name for part in dataclasses.fields(Settings)}:
            continue
        seen.add(field)
        for column, cell in zip(COLUMNS, cells, strict=True):
            value = getattr(ours[column], field)
            printed = cell.lower().replace(" ", "_")
            assert (printed == value) if isinstance(value, str) else (float(printed) == value), (field, column)
    for column in COLUMNS:
        assert set(ours[column].to_dict()) - seen == {"schedule"}


@pytest.mark.parametrize(
    ("label", "ours", "value_at", "minutes_at"),
    [
        ("tab:synthetic", published.XOR_DENSE, 1, 3),
        ("tab:synthetic", published.XOR_EVENT, 2, 3),
        ("tab:physionet", published.PHYSIONET, 1, 2),
        ("tab:imdb", published.IMDB, 1, None),
        ("tab:real_walker", published.WALKER2D, 1, 2),
    ],
)
def test_published_numbers_are_as_printed(label, ours, value_at, minutes_at):
    def plain(cell):
        cell = re.sub(r"\\cite\{[^}]*\}|\\textbf|\\hline|\\midrule|\\cmidrule\{[^}]*\}|\\%|\(ours\)", "", cell)
        return re.sub(r"[${}]|\\dagger|\\ast", "", cell.replace(r"\pm", "+-")).strip()

    rows = {}
    for row in TABLES[label]:
        marked = "dagger" in row[0] or r"\ast" in row[0]
        numbers = re.findall(r"\d+\.\d+", plain(row[min(value_at, len(row) - 1)]))
        if numbers:
            minutes = None if minutes_at is None else float(re.findall(r"\d+\.\d+", row[minutes_at])[0])
            deviation = float(numbers[1]) if len(numbers) > 1 else None
            rows[plain(row[0]).splitlines()[-1].strip()] = (float(numbers[0]), deviation, minutes, marked)
    found = {row.model: (row.value, row.deviation, row.minutes, row.quoted is not None) for row in ours}
    assert found == rows


def test_lane_keeping_weights_are_as_printed():
    rows = {}
    for name, total, recurrent in TABLES["tab:param_count"]:
        if re.search(r"\d{3}", total):
            name = name.split("\n")[-1].replace(r"\midrule", "").strip()
            rows[name] = tuple(int(cell.replace(",", "")) if cell.strip("- ") else None for cell in (total, recurrent))
    assert rows == {row.model: (row.total, row.recurrent) for row in published.LANE_WEIGHTS}


class Watched(Settings):
    """Settings that remember which fields were read."""

    def __getattribute__(self, name):
        if name in Settings.__dataclass_fields__:
            object.__getattribute__(self, "__dict__").setdefault("read", set()).add(name)
        return object.__getattribute__(self, name)


DRIVING = {"cnn", "ncp", "mm_rnn_noise"}
"""Rows of driving that are tried; each takes a quarter of a minute, and the others differ in their network alone."""
CASES = [
    (name, row)
    for name in EXPERIMENTS
    for row, entry in EXPERIMENTS[name].rows.items()
    if entry.settings and (name != "driving" or row in DRIVING)
]


@pytest.mark.parametrize(("name", "row"), CASES)
def test_every_field_is_read(name, row, tmp_path_factory, tmp_path, monkeypatch):
    shrink_xor(monkeypatch)
    shrink_head(monkeypatch)
    experiment = EXPERIMENTS[name]
    root = written(tmp_path_factory.getbasetemp() / "data")
    given = cheap(experiment.rows[row].settings).to_dict()
    watched = Watched(**given)
    watched.__dict__["read"] = set()
    experiment.rows[row].model.fit(small_run(experiment, root, tmp_path / "run"), watched)
    unread = set(given) - watched.__dict__["read"]
    allowed = set() if row.startswith("mm_rnn") else {"forget_bias"}
    if given["weight_decay"] == 0:
        allowed.add("weight_decay")
    assert unread <= allowed


def test_an_unknown_or_missing_field_is_refused():
    with pytest.raises(TypeError, match="hiden_size"):
        Settings(hiden_size=3)
    assert printed.XOR["cfc"].to_dict()["decay_lr"] == 0.7
    assert EXPERIMENTS["xor"].rows["cfc"].settings.decay_lr == 0.95
    assert EXPERIMENTS["xor"].rows["cfc_as_printed"].settings == printed.XOR["cfc"]
