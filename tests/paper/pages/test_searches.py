"""The table of searches is made from the files of their trials alone."""

import json

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.pages.searches import search_markdown, search_rows


def put(out, model, number, validation, **settings):
    start = EXPERIMENTS["walker2d"].rows[model].settings.to_dict()
    record = {"model": model, "trial": number, "validation": validation, "settings": {**start, **settings}}
    path = out / "search" / "walker2d" / f"{model}-trial{number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


def test_a_line_has_the_row_and_its_best_trial(tmp_path):
    trials = EXPERIMENTS["walker2d"].search.trials
    for number in range(trials):
        put(tmp_path, "cornn", number, 6.5 - number, base_lr=0.02 - 0.001 * number, epochs=25)
    put(tmp_path, "lstm", 0, 1.0)
    put(tmp_path, "lstm", 1, None, base_lr=10.0)
    text = search_markdown(tmp_path)
    lines = [line for line in text.splitlines() if line.startswith("| walker2d")]
    rate = 0.02 - 0.001 * (trials - 1)
    assert lines == [
        f"| walker2d | LSTM | mse ↓ | 2 of {trials} | 1 | 1 | none: its own settings are the best |",
        f"| walker2d | coRNN | mse ↓ | {trials} | 6.5 | {7.5 - trials:.4g} | base_lr {rate:g} |",
    ]
    assert [row["number"] for row in search_rows(tmp_path)] == [0, trials - 1]


def test_trials_of_changed_length_and_no_trials_give_nothing(tmp_path):
    assert search_markdown(tmp_path) == ""
    put(tmp_path, "cornn", 0, 2.0)
    path = tmp_path / "search" / "walker2d" / "cornn-trial0.json"
    path.rename(path.with_name("cornn-epochs2-trial0.json"))
    assert search_rows(tmp_path) == []
