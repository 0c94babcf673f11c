"""Text files as strangers write them: read right, or refused in one line."""

import codecs
import gzip

import numpy as np
import pytest

from liquidtime.data import SeriesSet, read_frame
from liquidtime.data.reading import Reading, read_table


@pytest.fixture
def read(tmp_path):
    def reader(contents, name="data.csv", **options):
        (tmp_path / name).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return read_table(tmp_path / name, Reading.of(options))

    return reader


PLAIN = {"id": ["a", "b"], "t": [0, 1], "x": [5, 6]}
SAME = {
    "comma": "id,t,x\na,0,5\nb,1,6\n",
    "byte order mark": codecs.BOM_UTF8 + b"id,t,x\na,0,5\nb,1,6\n",
    "semicolon": "id;t;x\na;0;5\nb;1;6\n",
    "pipe": "id|t|x\na|0|5\nb|1|6\n",
    "tab": "id\tt\tx\na\t0\t5\nb\t1\t6\n",
    "spaces": "id   t  x\na   0  5\nb   1  6\n",
    "no end of line": "id,t,x\na,0,5\nb,1,6",
    "CRLF": "id,t,x\r\na,0,5\r\n\r\nb,1,6\r\n",
    "CR": "id,t,x\ra,0,5\rb,1,6\r",
    "blank lines": "\n\nid,t,x\n\na,0,5\nb,1,6\n\n",
    "blanks": "id, t, x\n a, 0 ,5\nb ,1, 6\n",
    "quotes": '"id","t","x"\n"a","0","5"\n"b","1","6"\n',
    "a spreadsheet's first line": "sep=;\nid;t;x\na;0;5\nb;1;6\n",
    "separators at the ends of rows": "id;t;x\na;0;5;\nb;1;6;\n",
    "separators at the ends of lines": "id,t,x,,\na,0,5,,\nb,1,6,,\n",
    "gzip": gzip.compress(b"id,t,x\na,0,5\nb,1,6\n"),
    "UTF-16": "id,t,x\na,0,5\nb,1,6\n".encode("utf-16"),
}


@pytest.mark.parametrize("case", SAME)
def test_one_table_in_many_clothes(read, case):
    assert read(SAME[case]).frame.to_dict(as_series=False) == PLAIN


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolon"), ("|", "pipe"), ("\t", "tab"), (" ", "space")])
def test_other_separators_are_said_and_may_be_given(read, separator, name):
    contents = separator.join(["id", "t", "x"]) + "\n" + separator.join(["a", "0", "5"]) + "\n"
    table = read(contents)
    assert table.formats["separator"] == separator
    assert f"separated by {name}" in str(table.notes[0])
    assert read(contents, separator=name).notes == ()
    assert read(contents.replace("\n", "\n"), separator=separator).frame.equals(table.frame)


def test_a_separator_that_cannot_be_told_is_asked_for(read):
    with pytest.raises(ValueError, match=r"could be separated by semicolon \(2 fields\) and pipe \(2 fields\)"):
        read("a;b|c\n1;2|3\n")
    assert read("a;b|c\n1;2|3\n", separator="|").frame.columns == ["a;b", "c"]


NUMBERS = {
    "decimal commas": ("x;y\n1,5;2\n2,25;3\n", [1.5, 2.25]),
    "thousands and decimal commas": ("x;y\n1.234,5;2\n2;3\n", [1234.5, 2]),
    "thousands": ('x,y\n"1,234.5",2\n"12",3\n', [1234.5, 12]),
    "thousands of thousands": ('x,y\n"1,234,567",2\n5,3\n', [1234567, 5]),
    "thousands beside points": ('x,y\n"1,234",2.5\n"5,678",3\n', [1234, 5678]),
    "spaces": ("x;y\n1 234;2\n5;3\n", [1234, 5]),
    "apostrophes": ("x;y\n1'234'000;2\n5;3\n", [1234000, 5]),
    "thousandths": ("x;y\n0,123;2\n1,234;3\n", [0.123, 1.234]),
    "exponents": ("x;y\n-1,5e3;2\n+2;3\n", [-1500, 2]),
    "no number before the mark": ("x,y\n.5,2\n-.25,3\n", [0.5, -0.25]),
    "truth": ("x,y\ntrue,2\nFalse,3\n", [True, False]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_are_read_as_they_are_meant(read, case):
    contents, expected = NUMBERS[case]
    assert read(contents).frame["x"].to_list() == expected


def test_decimal_commas_are_said_stored_and_used_for_what_is_ambiguous(read):
    table = read("x;y\n1,5;2\n2,25;3\n")
    assert table.formats["decimal"] == ","
    assert "note: 1 of 2 columns have decimal commas (x)" in map(str, table.notes)
    with pytest.raises(ValueError, match=r"'1,234' in 'x' could be 1234 or 1.234; give `decimal` '.' for the first"):
        read("x;y\n1,234;2\n")
    assert read("x;y\n1,234;2\n", decimal=",").frame["x"].to_list() == [1.234]
    assert read("x;y\n1,234;2\n", decimal=".").frame["x"].to_list() == [1234]
    assert read("x;y\n1,234;2\n", usual=table.formats).frame["x"].to_list() == [1.234]
    with pytest.raises(ValueError, match=r"'y' has numbers such as 1.234, .* could be 1.234 or 1234"):
        read("x;y\n1,5;1.234\n")
    assert read("x;y\n1,5;1.234\n", decimal=",").frame["y"].to_list() == [1234]
    with pytest.raises(ValueError, match=r"must have one decimal mark; 'x' has '1.5' and 'x' has '2,5'"):
        read("x;y\n1.5;1\n2,5;1\n")


def test_names_that_look_like_numbers_stay_names(read):
    frame = read("id,t,x\n007,0,1\n12,1,2\n").frame
    assert frame["id"].to_list() == ["007", "12"]
    frame = read("id,t,x\n99999999999999999999,0,1\n12,1,2\n").frame
    assert frame["id"].to_list() == ["99999999999999999999", "12"]


@pytest.mark.parametrize("word", ["NA", "n/a", "n.a.", "N.A.", "N.A", "<NA>", "null", "-", "?", ".", "None", "#N/A"])
def test_words_for_nothing_are_missing_and_counted(tmp_path, word):
    (tmp_path / "d.csv").write_text(f"id,t,x,k\na,0,5,red\na,1,{word},{word}\nb,0,7,blue\n")
    data = SeriesSet.from_wide(tmp_path / "d.csv", id="id", time="t", values=["x"])
    np.testing.assert_array_equal(data.values[:, 0], [5, np.nan, 7])
    assert f"note: 1 of 3 values of 'x' are '{word}', read as not observed" in map(str, data.notes)


def test_words_may_be_added_and_names_keep_theirs(tmp_path):
    (tmp_path / "d.csv").write_text("id,t,x,k\nNA,0,5,+\nNA,1,low,-\nNB,0,7,none\n")
    with pytest.raises(ValueError, match=r"'low' in series NA at position 1.*list them in `missing`"):
        SeriesSet.from_wide(tmp_path / "d.csv", id="id", time="t", categorical=["k"])
    data = SeriesSet.from_wide(tmp_path / "d.csv", id="id", time="t", categorical=["k"], missing=["low", -1])
    assert data.ids.tolist() == ["NA", "NB"]  # a country, and an element, are no missing values
    assert data.categories == {"k": ("+", "-", "none")}
    assert np.isnan(data.values[1, 0])
    (tmp_path / "l.csv").write_text("id,t,what,v\na,0,NA,140\na,0,K,4\na,1,K,-\n")
    long = SeriesSet.from_long(tmp_path / "l.csv", id="id", time="t", channel="what", value="v")
    assert long.channels == ("K", "NA")
    assert long.lengths.tolist() == [1]


def test_another_encoding_is_named_and_may_be_given(read):
    contents = "id,t,x\nMüller,0,5\n".encode("cp1252")
    with pytest.raises(ValueError, match=r"not UTF-8: byte 0xfc in line 2. It looks like cp1252 .* reads 'Müller'"):
        read(contents)
    table = read(contents, encoding="cp1252")
    assert table.frame["id"].to_list() == ["Müller"]
    assert table.formats["encoding"] == "cp1252"
    with pytest.raises(ValueError, match="`encoding` must be one that Python knows"):
        read(contents, encoding="cp1")
    with pytest.raises(ValueError, match="cannot be read with `encoding` 'ascii'"):
        read(contents, encoding="ascii")
    with pytest.raises(ValueError, match="looks like utf-16-le"):
        read("id,t,x\nMüller,0,5\n".encode("utf-16-le"))
    assert "encoded in utf-16" in str(read("id,t,x\nMüller,0,5\n".encode("utf-16")).notes[0])


REFUSED = {
    "empty": ("", "'data.csv' is empty"),
    "blank": ("\n \n", "'data.csv' is empty"),
    "only names": ("id,t,x\n", "has a line of column names and no rows; the names are id, t, x"),
    "two columns of one name": ("id,t,t\n1,0,5\n", "has several columns called 't'"),
    "two columns of one name, with blanks": ("id,t, t\n1,0,5\n", "has several columns called 't'"),
    "two columns without a name": ("id,,\n1,0,5\n", "has 2 columns without a name"),
    "a long line": ("id,t,x\na,0,5\nb,1,6,7\n", "1 of 2 lines have more, the first is line 3 with 4"),
    "row names": ("id,t\n1,a,0\n2,b,1\n", "If the first field names the row, give its column a name"),
    "an open quote": ('id,t,x\n1,0,"5\n2,1,6\n', "has a quote that is never closed"),
    "an open quote in the first line": (
        'id,"t,x\n1,0,5\n2,1,6\n',
        "has a quote in its first line that is never closed",
    ),
    "NUL": (b"id,t,x\n1,0,5\n2,1,\x00\n", "has NUL bytes, the first in line 3"),
    "bytes": (bytes(range(256)) * 4, "is not a text file"),
    "a zip": (b"PK\x03\x04" + bytes(64), "is a zip archive or a spreadsheet"),
    "a parquet": (b"PAR1" + bytes(64), "is a Parquet file"),
    "half a gzip": (gzip.compress(b"id,t,x\na,0,5\n")[:20], "its gzip compression is damaged"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused_in_a_line(read, case):
    contents, text = REFUSED[case]
    with pytest.raises(ValueError) as caught:
        read(contents)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_short_lines_are_counted_and_refused_if_strict(tmp_path):
    (tmp_path / "e.csv").write_text("id,t,x,y\na,0\na,1,6,7\n")
    assert np.isnan(SeriesSet.from_wide(tmp_path / "e.csv", id="id", time="t").values[0]).all()
    (tmp_path / "d.csv").write_text("id,t,x,y\na,0,5,1\na,1,6\n")
    data = SeriesSet.from_wide(tmp_path / "d.csv", id="id", time="t")
    assert (
        "repaired: 1 of 2 lines of 'd.csv' have too few fields; the missing ones are empty (line 3 has 3 of 4)"
        in map(str, data.notes)
    )
    with pytest.raises(ValueError, match="line 3 has 3 of 4"):
        SeriesSet.from_wide(tmp_path / "d.csv", id="id", time="t", strict=True)


def test_quotes_within_fields_and_long_fields(read, tmp_path):
    assert read('id,t,x\n1,0,5" pipe\n2,1,6" pipe\n').frame["x"].to_list() == ['5" pipe', '6" pipe']
    assert read('id,t,x\n1,0,"a,b\nc""d"\n').frame["x"].to_list() == ['a,b\nc"d']
    contents = f'id,t,x\n1,0,"{"z" * 300_000}"\n1,1,5\n'
    assert len(read(contents).frame["x"][0]) == 300_000
    with pytest.raises(ValueError) as caught:
        SeriesSet.from_wide(tmp_path / "data.csv", id="id", time="t")
    assert len(str(caught.value)) < 500


def test_infinite_values_are_refused_by_place(read, tmp_path):
    read("id,t,x\n1,0,inf\n1,1,-Infinity\n")
    with pytest.raises(ValueError, match=r"2 of 2 values are not. The first: inf in series 1 at position 0"):
        SeriesSet.from_wide(tmp_path / "data.csv", id="id", time="t")


def test_row_numbers_of_other_libraries_are_no_channels(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"id": [1, 1, 2], "t": [0, 1, 0], "x": [5.0, 6, 7]}, index=[3, 5, 9])
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv")
    pd.read_csv(tmp_path / "f.csv").to_csv(tmp_path / "g.csv", index=False)
    for name in ("f.parquet", "f.csv", "g.csv"):
        data = SeriesSet.from_wide(tmp_path / name, id="id", time="t")
        assert data.channels == ("x",)
        assert "row numbers of another library" in str(data.notes[0])
    assert read_frame(tmp_path / "g.csv").columns[0] == "Unnamed: 0"


def test_options_have_known_names(read):
    with pytest.raises(TypeError, match="`seperator` is not an option for reading tables; did you mean `separator`"):
        read("a,b\n1,2\n", seperator=";")
    with pytest.raises(ValueError, match="`separator` must be one character"):
        read("a,b\n1,2\n", separator="::")
    with pytest.raises(ValueError, match="`decimal` and `separator` must differ"):
        read("a,b\n1,2\n", separator=",", decimal=",")
