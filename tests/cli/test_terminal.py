"""What stands in a file never commands a terminal."""

import gzip
import json

import polars as pl
import pytest

from cli.tables import lt
from liquidtime.cli.terminal import printable, printable_json

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202egnp.exe\u2066\x7f"
UNSAFE = "\x1b\x07\x9b\u202e\u2066\x7f\x85\u2028"


def test_escapes_are_spelled_out_and_words_stay():
    assert printable("heart rate °C\t日本\n") == "heart rate °C\t日本\n"
    assert printable("\x1b[2J\u202e") == r"\x1b[2J\u202e"
    assert not set(printable(HOSTILE)) & set(UNSAFE)
    text = json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False)
    assert not set(printable_json(text)) & set(UNSAFE)
    assert json.loads(printable_json(text)) == {HOSTILE: HOSTILE}


@pytest.mark.parametrize("words", [[], ["--json"], ["--target", "none"], ["--target", HOSTILE]])
def test_names_of_channels_classes_and_ids_reach_no_terminal_raw(tmp_path, words):
    rows = [(f"p{i}{HOSTILE}", t, float(i % 2) + t, f"{i % 2}{HOSTILE}") for i in range(12) for t in range(3)]
    table = pl.DataFrame(rows, schema=["id", "t", f"hr{HOSTILE}", "state"], orient="row")
    table.write_csv(tmp_path / f"d{HOSTILE.replace('/', '')}.csv")
    data = next(tmp_path.glob("*.csv"))
    target = [] if "--target" in words else ["--target", "state"]
    code, out, err = lt("train", data, "--id", "id", "--time", "t", *target, *words, "--epochs", 1,
                        "--out", tmp_path / "m")  # fmt: skip
    assert code == (2 if "--target" in words else 0), err
    assert not set(out + err) & set(UNSAFE)
    if code == 0:
        card = (tmp_path / "m" / "README.md").read_text()
        assert not set(card) & set(UNSAFE)
        assert not set(lt("info", tmp_path / "m")[1]) & set(UNSAFE)


def test_a_table_cut_short_is_named_and_is_bad_input(tmp_path):
    whole = gzip.compress(b"id,t,x,y\n" + b"".join(b"p%d,1,2,3\n" % n for n in range(5000)))
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    code, _, err = lt("train", tmp_path / "cut.csv.gz", "--id", "id", "--time", "t", "--target", "y",
                      "--out", tmp_path / "m")  # fmt: skip
    assert (code, "cut.csv.gz" in err, err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize("head", ["id,t,x,x,y", 'id,t,"x",x,y', "id,t,x,y,y", "id,id,t,x,y"])
def test_a_column_name_that_is_there_twice_is_refused(tmp_path, head):
    (tmp_path / "d.csv").write_text(head + "\n" + "".join(f"p{n},1,2,3,4\n" for n in range(9)))
    code, _, err = lt("train", tmp_path / "d.csv", "--id", "id", "--time", "t", "--target", "y",
                      "--out", tmp_path / "m")  # fmt: skip
    assert (code, "several columns called" in err) == (2, True)
