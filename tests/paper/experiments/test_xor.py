"""The two tables of bit streams are declared by fields; remarks only tell what the fields say."""

import dataclasses
import re

import pytest

from liquidtime.paper.experiments import EXPERIMENTS, xor
from liquidtime.paper.experiments.experiment import with_searched


@pytest.mark.parametrize("name", ["xor", "xor-dense"])
def test_remarks_tell_the_epochs_of_the_settings(name):
    told = 0
    for row in EXPERIMENTS[name].rows.values():
        for number in re.findall(r"(\d+) epochs", row.note):
            assert int(number) == row.settings.epochs
            told += 1
    assert told > 15


def test_the_tables_differ_in_what_the_streams_say_alone():
    dense = xor.EQUIDISTANT
    other = xor.rows(dataclasses.replace(xor.EVENT, epochs=4, growing_epochs=2, why=dense.why, see=dense.see))
    assert with_searched(other, xor.SEARCH) == EXPERIMENTS["xor-dense"].rows
    changed = {name for name, row in EXPERIMENTS["xor"].rows.items() if row.settings != xor.DENSE_ROWS[name].settings}
    quoted = {name for name in xor.ROWS if name.endswith("_quoted")}
    assert changed == {"ltc", "lstm", "gru", "transformer", "bidirectional", *xor.OTHERS, *xor.SCALED, *quoted}
    assert {xor.DENSE_ROWS[name].settings.epochs for name in changed} == {4}


def test_every_reason_is_of_a_row():
    for streams in (xor.EVENT, xor.EQUIDISTANT):
        assert set(streams.why) | set(streams.see) <= set(xor.ROWS)
    for experiment in EXPERIMENTS.values():
        for row in experiment.rows.values():
            assert not (row.label and (row.why or row.see)) or experiment.name.startswith("physionet")
            assert all(experiment.rows[name].label for name in row.see)
