"""The page in a headless browser against `predict_proba`."""

import html
import json
import re
import shutil
import subprocess
import urllib.parse
import warnings

import numpy as np
import pytest

import liquidtime as lt
from export.models import MODELS
from oracles.series import random_set

NEEDED = ("clang", "wasm-ld", "chromium", "gcc")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in NEEDED),
        reason=f"needs {', '.join(NEEDED)} (Debian: apt-get install clang lld chromium gcc)",
    ),
]


@pytest.fixture(scope="module")
def model():
    return MODELS["scales"]()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("web") / "page"
    lt.export.web(model, path)
    return path


def opened(folder, profile, csv=None, script=""):
    """Return the page's elements by id after it has run, and after it a script."""
    page = folder / "index.html"
    if script:
        page = profile / "with a script.html"
        text = (folder / "index.html").read_text()
        page.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    link = page.as_uri()
    if csv is not None:
        link += "#" + urllib.parse.urlencode({"csv": csv}, quote_via=urllib.parse.quote)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    options += ["--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--dump-dom"]
    options += ["--virtual-time-budget=5000"] if script else []
    done = subprocess.run(["chromium", *options, link], capture_output=True, text=True, timeout=120, check=True)
    body = re.sub(r"<script>.*</script>", "", done.stdout, flags=re.S)
    names = ("about", "error", "now", "path", "check")
    return {name: html.unescape(re.search(rf'id="{name}"[^>]*>(.*?)</(?:p|table)>', body, re.S)[1]) for name in names}


def table(text):
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in text.split("</tr>")]
    return np.array([[float(cell) for cell in row] for row in rows if row])


def test_the_page_checks_itself_and_shows_an_example(folder, tmp_path):
    shown = opened(folder, tmp_path)
    assert re.match(r"Checked: largest difference \d\.\d+e-[678] ", shown["check"])
    assert shown["error"] == ""
    vector = json.loads((folder / "vectors.json").read_text())[0]
    np.testing.assert_allclose(table(shown["path"])[:, 1:], vector["predictions"], atol=5e-6)


def test_a_table_of_samples_gives_what_the_model_gives(model, folder, tmp_path):
    data = random_set(8, [0, 25])[1:]
    categories = ["low", "mid", "top"]
    lines = ["id,hours,a,b,c0,k,age,ward"]
    age, ward = data.static[0]
    for t, row in zip(data.times, data.values, strict=True):
        kind = "" if row[3] != row[3] else categories[int(row[3])]
        cells = [*("" if v != v else repr(float(v)) for v in row[:3]), kind]
        lines.append(",".join(["7", repr(float(t)), *cells, repr(float(age)), ["east", "west"][int(ward)]]))
    shown = opened(folder, tmp_path, "\n".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [model.predict_proba(data.head(k + 1))[0] for k in range(25)]
    np.testing.assert_allclose(table(shown["path"])[:, 1:], wanted, atol=5e-6)
    assert "After 25 samples" in shown["now"]


def test_time_stamps_and_one_measurement_a_row_are_read_and_wrong_cells_named(model, folder, tmp_path):
    long = "id;stamp;parameter;value\n1;2024-01-01 00:00;a;1.5\n1;2024-01-01 05:30;b;2\n1;2024-01-01 05:30;ward;west\n"
    shown = opened(folder, tmp_path, long)
    model.reset()
    model.update(1, 0.0, {"a": 1.5}, static={"ward": "west"})
    wanted = model.update(1, 5.5, {"b": 2.0})
    np.testing.assert_allclose(table(shown["path"])[-1, 1:], wanted, atol=5e-6)
    assert "a must be a number" in opened(folder, tmp_path, "time,a\n1,high\n")["error"]
    assert "channels" in opened(folder, tmp_path, "time,other\n1,2\n")["error"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("id,time,channel,value\n1,0.5,pulse,80\n", "no row is of one of the model's channels: a, b"),
        ("time,a\n05/04/2024,1\n", "is neither a number nor a time stamp such as 2024-05-01"),
        ("time,a\n1,2\n2,3,5\n", "row 3 has 3 cells, the first row has 2"),
        ("constructor,a\n1,2\n", "choose the column of times"),
        ("  \n", "the table is empty"),
    ],
)
def test_tables_that_cannot_be_read_are_said_to_be(folder, tmp_path, text, error):
    assert error in opened(folder, tmp_path, text)["error"]


DROP = """
const transfer = new DataTransfer();
transfer.items.add(new File([new Uint8Array(%s)], "ward.csv"));
document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer}));
"""


def test_files_are_dropped_in_any_encoding_and_refused_where_they_are_no_text(folder, tmp_path):
    table_of = "patient,t,a,unité\n7,0.5,1.5,é\n7,2,,é\n"
    for text in (table_of.encode(), b"\xef\xbb\xbf" + table_of.encode(), table_of.encode("cp1252")):
        shown = opened(folder, tmp_path, script=DROP % list(text))
        assert shown["error"] == ""
        assert table(shown["path"])[:, 0].tolist() == [0.5, 2.0]
        assert "After 2 samples: class 0: 0." in shown["now"]
    shown = opened(folder, tmp_path, script=DROP % list(b"PK\x03\x04\x00\x00 a workbook"))
    assert shown["error"] == "ward.csv is not a text file; save the table as CSV in UTF-8"
    assert table(shown["path"]).size == 0


def test_a_long_table_shows_its_end(folder, tmp_path):
    shown = opened(folder, tmp_path, "t,a\n" + "".join(f"{k},1\n" for k in range(3000)))
    assert "The newest 1,000 of 3,000 rows" in shown["path"]
    assert table(shown["path"])[[0, -1], 0].tolist() == [2000.0, 2999.0]
    assert "After 3000 samples" in shown["now"]


def test_the_page_is_one_small_file_that_asks_for_nothing(folder):
    page = (folder / "index.html").read_text()
    assert len(page) < 2_000_000
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org/2000/svg)", page.split("WebAssembly.Module")[0])


def test_names_cannot_end_the_script(tmp_path):
    data = random_set(0, [9, 8, 9, 8], static=False, categorical=False)
    data = data.replace_unchecked(channels=("</script><b>", "$&", "c"))
    model = lt.CfCClassifier(hidden_size=4, backbone_units=4, read_out_units=4, epochs=1, random_state=0)
    lt.export.web(model.fit(data, ["<i>", "x", "<i>", "x"]), tmp_path / "page", int8=True)
    shown = opened(tmp_path / "page", tmp_path / "profile")
    assert shown["check"].startswith("Checked")
    assert "</script><b>, $&, c" in shown["about"]


def test_large_weights_are_stored_in_8_bits_and_that_is_said(model, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("liquidtime.export.to_web._LARGE", 0)
    result = lt.export.web(model, tmp_path / "page")
    assert "predictions on the test vectors change by" in result.facts["int8"]
    assert result.sizes["index.html"] < (folder / "index.html").stat().st_size
