"""The page in Chromium: nothing on the console, every figure drawn, no sideways scrolling on a phone."""

import html
import json
import re
import shutil
import subprocess

import pytest

from evaluation.report.example import report
from liquidtime.evaluation.report import render

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs `chromium` on PATH")]

PROBE = """<!doctype html><title>probe</title><body style="margin:0">
<iframe id="page" style="width:{width}px;height:2000px;border:0" srcdoc="{page}"></iframe>
<pre id="found"></pre><script>
document.getElementById("page").onload = event => {{
  const page = event.target.contentDocument, body = page.defaultView.getComputedStyle(page.body);
  page.querySelectorAll("details").forEach(one => one.open = true);
  const drawn = [...page.querySelectorAll("svg")].map(svg => {{
    const box = svg.getBoundingClientRect(), path = svg.querySelectorAll("path, use").length;
    return [Math.round(box.width), Math.round(box.height), path];
  }});
  const wide = [...page.querySelectorAll("body *")].filter(
    one => one.getBoundingClientRect().right > {width} + 1 && !one.closest(".scroll") && !one.closest("svg"));
  const outside = [...page.querySelectorAll("svg text")].filter(one => {{
    const box = one.getBoundingClientRect(), frame = one.closest("svg").getBoundingClientRect();
    return box.right > frame.right + 2 || box.left < frame.left - 2;
  }});
  document.getElementById("found").textContent = JSON.stringify({{
    scroll: page.documentElement.scrollWidth, drawn, wide: wide.map(one => one.outerHTML.slice(0, 80)),
    outside: outside.map(one => one.textContent), paper: body.backgroundColor, ink: body.color,
    text: [...page.querySelectorAll("svg text")].map(one => getComputedStyle(one).fill)[0],
  }});
}};
</script>"""


def look(tmp_path, page, width, *options):
    """Open a page in a frame of some width; return what a script measured there, and the console's lines."""
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(width=width, page=html.escape(page, quote=True)), encoding="utf-8")
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--virtual-time-budget=4000",
    ]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    run = subprocess.run(
        [*command, profile, "--window-size=1400,2200", *options, "--dump-dom", probe.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, flags=re.DOTALL)
    console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(found[1])), console


@pytest.fixture(scope="module")
def page():
    names = (
        "heart rate",
        "a_channel_with_a_name_that_is_very_long_and_has_no_space_in_it_at_all",
        "<script>bad()</script>",
    )
    return render(report(channels=names, networks=2))


@pytest.mark.parametrize("width", [390, 1200])
def test_it_fits(tmp_path, page, width):
    found, console = look(tmp_path, page, width)
    assert console == []
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert found["outside"] == []
    assert len(found["drawn"]) == 17
    for drawn_width, height, marks in found["drawn"]:
        assert 250 < drawn_width <= width
        assert height > 120
        assert marks > 10


def test_light_and_dark(tmp_path, page):
    light, _ = look(tmp_path, page, 800, "--blink-settings=preferredColorScheme=1")
    dark, _ = look(tmp_path, page, 800, "--blink-settings=preferredColorScheme=0")
    assert (light["paper"], light["ink"]) == ("rgb(255, 255, 255)", "rgb(27, 31, 36)")
    assert (dark["paper"], dark["ink"]) == ("rgb(20, 23, 28)", "rgb(228, 231, 235)")
    assert light["text"] == light["ink"]
    assert dark["text"] == dark["ink"]


def test_a_script_would_be_heard(tmp_path):
    _, console = look(tmp_path, "<script>console.error('loud')</script>", 390)
    assert len(console) == 1
