"""The demo, in small, on the bundled sample."""

import json

import polars as pl

from cli.tables import lt
from liquidtime.datasets import physionet2012_sample as sample


def test_the_sample_is_what_its_page_says():
    records, outcomes = pl.read_parquet(sample.RECORDS), pl.read_parquet(sample.OUTCOMES)
    assert sample.RECORDS.stat().st_size + sample.OUTCOMES.stat().st_size <= 1_000_000
    assert len(outcomes) == 1000
    assert outcomes["in_hospital_death"].sum() == 138
    assert set(records["record_id"]) == set(outcomes["record_id"])
    page = (sample.RECORDS.parent / "ATTRIBUTION.md").read_text()
    for words in ("ODC-By 1.0", "Silva I", "Goldberger AL", "138 of 1,000"):
        assert words in page


def test_the_demo_ends_in_a_table_and_a_report(tmp_path):
    code, out, err = lt("demo", "--out", tmp_path / "m", "--epochs", 1, "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["series"] == {"training": 700, "test": 300}
    assert result["test"]["CfC, 3 networks"]["auc"]["value"] > 0.6
    assert result["test"]["gradient boosting on summary features"]["auc"]["value"] > 0.7
    assert "liquidtime train records.parquet" in err
    assert "report " in err
    page = (tmp_path / "m" / "report.html").read_text()
    assert "Silva I" in page
    assert len(page.encode()) < 1_000_000
