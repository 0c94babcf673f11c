import statistics
from pathlib import Path

import pytest

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import UNSAID
from liquidtime.paper.pages import tables
from liquidtime.paper.runner.results import Key, read_results, write_result


def put(out, experiment, model, seed, value, protocol="honest", **more):
    limits = {name: more.pop(name, None) for name in ("epochs", "limit")}
    key = Key(experiment, model, protocol, seed, **limits)
    metric = EXPERIMENTS[experiment].task.metric
    test = {"metric": metric, "value": value, "low": value - 0.1, "high": value + 0.1, "level": 0.95}
    record = {
        "key": vars(key), "figures": {"test": test, **more.pop("figures", {})}, "stopped": "finished",
        "seconds_per_epoch": 2.0, "threads": 1, "side_by_side": 1, "machine": "m", "cores": 2, **more,
    }  # fmt: skip
    write_result(key.file(out), record)


def row(text, *words):
    (found,) = [line for line in text.splitlines() if line.startswith("| " + " | ".join(words) + " |")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_mean_deviation_and_interval(tmp_path):
    for seed, value in enumerate((0.99, 0.97, 1.0)):
        put(tmp_path, "xor", "cfc", seed, value)
    put(tmp_path, "xor", "lstm", 0, 0.8)
    put(tmp_path, "xor", "gru", 0, 0.8, figures={"test_unseen": {"value": 0.75}})
    text = tables.markdown(EXPERIMENTS["xor"], tmp_path)
    cfc = row(text, "CfC", "honest")
    deviation = 100 * statistics.stdev([0.99, 0.97, 1.0])
    assert cfc[2] == f"98.67 ± {deviation:.2f}"
    assert cfc[3:5] == ["3", "88.67…108.67"]
    assert cfc[5:7] == ["99.42 ± 0.42", "0.75"]
    lstm = row(text, "LSTM", "honest")
    assert lstm[2:4] == ["80.00", "1"]
    assert lstm[5] == "*89.71 ± 3.48* (Lechner & Hasani 2020)"
    assert row(text, "ODE-LSTM", "", "–")[5] == "*98.89 ± 0.26* (Lechner & Hasani 2020)"
    assert "Augmented LSTM" not in text


def test_changed_runs_and_protocols_stand_apart(tmp_path):
    put(tmp_path, "physionet", "cf_s", 0, 0.7)
    put(tmp_path, "physionet", "cf_s", 1, 0.6, epochs=3)
    put(tmp_path, "physionet", "cf_s", 0, 0.8, protocol="published-intervals")
    put(tmp_path, "physionet", "cfc", 0, 0.8, stopped="diverged")
    text = tables.markdown(EXPERIMENTS["physionet"], tmp_path)
    assert row(text, "Cf-S", "honest")[2:4] == ["0.700", "1"]
    assert row(text, "Cf-S [epochs 3]", "honest")[2] == "0.600"
    assert row(text, "Cf-S", "published-intervals")[2] == "0.800"
    assert "1 diverged" in row(text, "CfC", "honest")[7]


def test_the_penalty_is_a_remark_of_the_published_protocol(tmp_path):
    for protocol in ("honest", "published"):
        put(tmp_path, "walker2d", "cfc", 0, 0.6, protocol=protocol, figures={"test_with_penalty": {"value": 0.625}})
    text = tables.markdown(EXPERIMENTS["walker2d"], tmp_path)
    assert row(text, "CfC", "honest")[7] == ""
    assert row(text, "CfC", "published")[7].endswith("0.625")


def test_accuracy_on_unseen_streams_is_a_remark_of_the_seeds_that_have_it(tmp_path):
    put(tmp_path, "xor", "cfc_tuned", 0, 0.9, figures={"test_unseen": {"value": 0.875}})
    put(tmp_path, "xor", "cfc_tuned", 1, 0.8)
    put(tmp_path, "xor", "lstm", 0, 0.8)
    put(tmp_path, "xor", "gru", 0, 0.8, figures={"test_unseen": {"value": 0.75}})
    text = tables.markdown(EXPERIMENTS["xor"], tmp_path)
    assert row(text, "CfC (tuned)", "honest")[7].endswith(
        "; on test sequences that do not occur in training: 87.50 (1 of 2 seeds)"
    )
    assert row(text, "GRU", "honest")[7].endswith("; on test sequences that do not occur in training: 75.00")
    assert "do not occur" not in row(text, "LSTM", "honest")[7]


def test_figures_far_from_the_papers_are_told_with_what_is_known(tmp_path):
    put(tmp_path, "xor", "cfc", 0, 0.986)  # paper 99.42 ± 0.42: within two deviations
    put(tmp_path, "xor", "no_gate", 0, 0.90)  # paper 96.29 ± 1.61
    put(tmp_path, "xor", "lstm", 0, 0.99)  # quoted, 89.71 ± 3.48
    put(tmp_path, "xor", "mm_rnn_tuned", 0, 0.5)  # not the paper's settings
    put(tmp_path, "physionet", "cf_s", 0, 0.8)
    told = [line for line in tables.markdown(EXPERIMENTS["xor"], tmp_path).splitlines() if line.startswith("- ")]
    assert told == [
        "- CfC-noGate: 90.00, paper 96.29 ± 1.61. We do not know why.",
        f"- LSTM: 99.00, paper *89.71 ± 3.48* (Lechner & Hasani 2020). {tables.QUOTED}",
    ]
    assert "- Cf-S: 0.800, paper 0.643 ± 0.018. With the paper's intervals" in tables.markdown(
        EXPERIMENTS["physionet"], tmp_path
    )


def test_a_reason_names_only_rows_and_protocols_that_were_run(tmp_path):
    put(tmp_path, "walker2d", "ct_rnn", 0, 1.0)
    put(tmp_path, "walker2d", "cornn", 0, 5.0)

    def told():
        lines = tables.markdown(EXPERIMENTS["walker2d"], tmp_path).splitlines()
        return {line.split(":")[0]: line.split(" 20")[-1].split(". ", 1)[1] for line in lines if line.startswith("- ")}

    other, unsaid = "The quoted figure is of another form of this network.", UNSAID
    assert told() == {
        "- CT-RNN": f"{other} Its row `as in the quoted code` was not run.",
        "- coRNN": f"{unsaid} Its row `searched` was not run.",
    }
    put(tmp_path, "walker2d", "ct_rnn_quoted", 0, 1.2)
    put(tmp_path, "walker2d", "cornn_searched", 0, 2.0)
    put(tmp_path, "walker2d", "cornn", 0, 4.5, protocol="published")
    assert told() == {
        "- CT-RNN": f"{other} The row `as in the quoted code` has 1.200.",
        "- coRNN": f"{unsaid} The row `searched` has 2.000. Under the protocol `published`, ours is 4.500.",
    }


def test_page_has_the_experiments_with_results_only(tmp_path):
    put(tmp_path, "walker2d", "cfc", 0, 0.6)
    page = tables.page(tmp_path)
    assert page.startswith("# Results")
    assert "## Walker2D kinematics" in page
    assert "XOR" not in page


def test_foreign_files_are_refused(tmp_path):
    put(tmp_path, "xor", "cfc", 0, 0.6)
    (tmp_path / "xor" / "a.json").write_text('{"key": 1}')
    with pytest.raises(ValueError, match=r"a\.json is not a result file: it has no 'figures'"):
        read_results(tmp_path, "xor")
    (tmp_path / "xor" / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.json is not a result file"):
        read_results(tmp_path, "xor")
    (tmp_path / "xor" / "a.json").unlink()
    put(tmp_path, "xor", "gone", 0, 0.6)
    with pytest.raises(ValueError, match="models that it does not have: gone"):
        tables.markdown(EXPERIMENTS["xor"], tmp_path)


def test_the_page_in_the_repository_is_made_from_its_results():
    root = Path(__file__).parents[3]
    assert (root / "RESULTS.md").read_text(encoding="utf-8") == tables.page(root / "results")
