"""Where tables come from: several files, folders, patterns, spreadsheets, databases."""

import sqlite3

import polars as pl
import pytest

from liquidtime.data import SeriesSet, read_frame
from oracles.series import assert_same

FRAME = pl.DataFrame({"id": ["a", "a", "b", "b"], "t": [0, 1, 0, 2], "x": [1.0, 2.5, 3.0, 4.0]})
READ = {"id": "id", "time": "t"}


@pytest.fixture
def folder(tmp_path):
    FRAME[:2].write_csv(tmp_path / "ward-a.csv")
    FRAME[2:].write_csv(tmp_path / "ward-b.csv")
    (tmp_path / "notes.md").write_text("not a table")
    return tmp_path


def test_folders_patterns_and_several_files_are_one_table(folder):
    whole = SeriesSet.from_wide(FRAME, **READ)
    parts = [folder / "ward-a.csv", folder / "ward-b.csv"]
    for source in (folder, str(folder / "ward-*.csv"), parts, [str(part) for part in parts]):
        assert_same(SeriesSet.from_wide(source, **READ), whole)


def test_files_without_ids_are_told_apart_by_their_names(folder):
    for name in ("ward-a", "ward-b"):
        pl.read_csv(folder / f"{name}.csv").drop("id").write_csv(folder / f"{name}.csv")
    data = SeriesSet.from_wide(folder, id="file", time="t")
    assert data.ids.tolist() == ["ward-a", "ward-b"]
    assert data.channels == ("x",)


def test_files_that_do_not_belong_together_are_refused(folder):
    FRAME.rename({"x": "y"}).write_csv(folder / "ward-c.csv")
    with pytest.raises(ValueError, match=r"columns of 'ward-a.csv'; 'ward-c.csv' lacks 'x' and has 'y' besides"):
        read_frame(folder)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        read_frame(folder / "*.tsv")
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"has no file that ends in .csv"):
        read_frame(folder / "empty")


def test_a_column_that_is_empty_or_of_texts_in_one_file(tmp_path):
    (tmp_path / "1.csv").write_text("id,t,x\n007,0,\n")
    (tmp_path / "2.csv").write_text("id,t,x\n12,0,5\n")
    data = SeriesSet.from_wide(tmp_path, **READ)
    assert data.ids.tolist() == ["007", "12"]
    assert data.values[1, 0] == 5


def test_txt_files_are_text_files(tmp_path):
    FRAME.write_csv(tmp_path / "f.txt", separator="\t")
    assert_same(SeriesSet.from_wide(tmp_path / "f.txt", **READ), SeriesSet.from_wide(FRAME, **READ))


def test_spreadsheets(tmp_path):
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "f.xlsx") as book:
        for name, header in (("first", FRAME.columns), ("second", ["id", "t", "t"])):
            sheet = book.add_worksheet(name)
            for column, title in enumerate(header):
                sheet.write(0, column, title)
                for row, value in enumerate(FRAME[FRAME.columns[column]]):
                    sheet.write(row + 1, column, value)
    assert_same(SeriesSet.from_wide(tmp_path / "f.xlsx", **READ), SeriesSet.from_wide(FRAME, **READ))
    with pytest.raises(ValueError, match="`sheet` must be one of first, second; got 'secnd'; did you mean `second`"):
        read_frame(tmp_path / "f.xlsx", sheet="secnd")
    with pytest.raises(ValueError, match="several columns called 't'"):
        read_frame(tmp_path / "f.xlsx", sheet="second")
    (tmp_path / "bad.xlsx").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"'bad.xlsx' cannot be read as a spreadsheet"):
        read_frame(tmp_path / "bad.xlsx")


def test_databases_of_sqlite(tmp_path):
    with sqlite3.connect(tmp_path / "f.db") as connection:
        connection.execute("CREATE TABLE m (id TEXT, t INTEGER, x REAL)")
        connection.executemany("INSERT INTO m VALUES (?, ?, ?)", FRAME.rows())
    connection.close()
    whole = SeriesSet.from_wide(FRAME, **READ)
    for source in (f"sqlite:///{tmp_path / 'f.db'}", tmp_path / "f.db"):
        assert_same(SeriesSet.from_wide(source, **READ, query="SELECT * FROM m"), whole)
    with pytest.raises(ValueError, match="is a database; give the rows to read with `query`"):
        read_frame(tmp_path / "f.db")
    with pytest.raises(ValueError, match=r"the query of .* failed: .*no such table: n"):
        read_frame(tmp_path / "f.db", query="SELECT * FROM n")
    with pytest.raises(ValueError, match=r"failed: .*(readonly|not valid)"):
        read_frame(tmp_path / "f.db", query="DELETE FROM m RETURNING *")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_frame(tmp_path / "g.db", query="SELECT 1")
    FRAME.write_csv(tmp_path / "f.csv")
    with pytest.raises(ValueError, match="`query` is for a database"):
        read_frame(tmp_path / "f.csv", query="SELECT 1")


def test_databases_of_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(str(tmp_path / "f.duckdb"))
    connection.execute("CREATE TABLE m (id VARCHAR, t INTEGER, x DOUBLE)")
    connection.executemany("INSERT INTO m VALUES (?, ?, ?)", FRAME.rows())
    connection.close()
    whole = SeriesSet.from_wide(FRAME, **READ)
    for source in (f"duckdb:///{tmp_path / 'f.duckdb'}", str(tmp_path / "f.duckdb")):
        assert_same(SeriesSet.from_wide(source, **READ, query="SELECT * FROM m"), whole)
    with pytest.raises(ValueError, match=r"the query of .* failed"):
        read_frame(tmp_path / "f.duckdb", query="SELECT * FROM n")


def test_databases_by_url_never_show_their_password(tmp_path):
    pytest.importorskip("sqlalchemy")
    with pytest.raises((ValueError, ImportError)) as caught:
        read_frame("postgresql://me:secret@nowhere.invalid/db", query="SELECT 1")
    assert "secret" not in str(caught.value)


def test_options_of_text_files_are_for_text_files(tmp_path):
    FRAME.write_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match="`separator` is for text files"):
        read_frame(tmp_path / "f.parquet", separator=";")
    with pytest.raises(ValueError, match="`encoding` is for files; `frame` is a data frame"):
        SeriesSet.from_wide(FRAME, **READ, encoding="cp1252")
