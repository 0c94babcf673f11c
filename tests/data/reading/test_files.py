import numpy as np
import polars as pl
import pytest

from liquidtime.data import SeriesSet, read_frame
from oracles.series import assert_same

FRAME = pl.DataFrame({"who": [1, 1, 2], "t": [0.0, 1.5, 0.0], "what": ["a", "b", "a"], "v": [1.0, None, 2.5]})
READ = {"id": "who", "time": "t", "channel": "what", "value": "v"}


def write(frame, path):
    writers = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".tsv": lambda p: frame.write_csv(p, separator="\t"),
    }
    writers.get(path.suffix, frame.write_ipc)(path)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".ipc", ".feather"])
def test_every_ending_gives_the_same_set(tmp_path, ending):
    path = tmp_path / f"data{ending}"
    write(FRAME, path)
    assert_same(SeriesSet.from_long(path, **READ), SeriesSet.from_long(FRAME, **READ))
    assert_same(SeriesSet.from_long(str(path), **READ), SeriesSet.from_long(FRAME, **READ))


def test_csv_types_come_from_all_rows_and_dates_are_parsed(tmp_path):
    path = tmp_path / "data.csv"
    lines = [f"1,2024-01-01T00:{i // 60:02}:{i % 60:02},{i}" for i in range(300)]
    path.write_text("who,t,x\n" + "\n".join(lines) + "\n1,2024-01-01T01:00:00,0.5\n")
    data = SeriesSet.from_wide(path, id="who", time="t")
    assert data.values[-1, 0] == 0.5
    assert data.times[-1] == 3600.0


def test_faults_of_files_are_said_in_a_line(tmp_path):
    write(FRAME, tmp_path / "data.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*dta.csv'; did you mean `data.csv`"):
        read_frame(tmp_path / "dta.csv")
    (tmp_path / "data.docx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"`path` must end in one of .csv, .tsv, .txt, .parquet, .*got 'data.docx'"):
        read_frame(tmp_path / "data.docx")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(ValueError, match=r"'empty.csv' is empty"):
        read_frame(tmp_path / "empty.csv")
    for name in ("bad.parquet", "bad.arrow"):
        (tmp_path / name).write_bytes(np.random.default_rng(0).bytes(64))
        with pytest.raises(ValueError, match=f"'{name}' cannot be read as {name[4:]}"):
            read_frame(tmp_path / name)
