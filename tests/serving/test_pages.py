"""The pages of the service in a headless browser."""

import html
import re
import shutil
import subprocess

import pytest

from serving.servers import Service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium (Debian: apt-get install chromium)"),
]
NASTY = "<img src=x onerror=\"document.body.innerHTML='taken over'\">"


def opened(address, profile):
    """Return the texts of a page after it has run for some seconds of its own time."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    options += ["--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--dump-dom"]
    words = ["chromium", *options, "--virtual-time-budget=5000", address]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return re.sub(r"<(script|style)>.*?</\1>", "", done.stdout, flags=re.DOTALL)


def test_the_pages_show_series_and_operations(exported, streams, statics, tmp_path):
    with Service(exported, tmp_path / "s.db") as service:
        for id, samples in streams.items():
            service.send(id, samples, static=statics[id])
        service.send(NASTY, [(1.0, {"a": 1.0})])
        page = opened(f"http://127.0.0.1:{service.port}/#series=s0", tmp_path / "profile")
        shown = service.request("GET", "/series/s0")[1]
        docs = opened(f"http://127.0.0.1:{service.port}/docs#take_samples", tmp_path / "profile")
    texts = html.unescape(re.sub(r"<[^>]*>", "\n", page))
    assert "taken over" not in re.sub(re.escape(NASTY), "", html.unescape(page))
    assert NASTY in texts
    assert "7 series, 4 channels" in texts
    prediction = shown["prediction"]
    sure = prediction["probabilities"][str(prediction["label"])]
    assert f"s0: class {prediction['label']} ({100 * sure:.1f} %)" in texts
    (curve,) = re.findall(r'id="chart">.*?<polyline class="curve s0" points="([^"]*)"', page, flags=re.DOTALL)
    assert len(curve.split()) == len(shown["path"]) == 12
    heights = [float(point.split(",")[1]) for point in curve.split()]
    wanted = [10 + 200 * (1 - point["prediction"]["probabilities"]["1"]) for point in shown["path"]]
    assert heights == pytest.approx(wanted, abs=0.06)
    assert "/series/{id}/samples" in docs
    assert "<details open" in docs
    assert "Token <input" not in re.sub(r"<form[^>]*hidden.*?</form>", "", docs, flags=re.DOTALL)
