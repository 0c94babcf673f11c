"""Draw the picture of README and the site: the top of the report of `make demo`, by a browser without a window.

`make picture` runs it. The report is made first if it is not there, and what the demo prints
is stored in results/demo.txt.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT, COLOURS = 1100, 760, 64


def main() -> None:
    """Take the picture and store it with few colours."""
    from PIL import Image

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, default=ROOT / "demo-model" / "report.html")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "report.png")
    options = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("this needs chromium on PATH")
    if not options.report.exists():
        demo = subprocess.run(
            [sys.executable, "-m", "liquidtime", "demo"], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        lines = [line.rstrip() for line in demo.stdout.decode().splitlines()]
        (ROOT / "results" / "demo.txt").write_text("\n".join(lines) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "report.png"
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}", "--virtual-time-budget=3000"]
        subprocess.run([browser, *flags, *size, options.report.resolve().as_uri()], check=True, capture_output=True)
        picture = Image.open(shot).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        picture.save(options.out, optimize=True)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
