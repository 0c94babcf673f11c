"""schemathesis over the service's own OpenAPI document: every operation, also with what does not fit."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serving.servers import Service

pytestmark = [pytest.mark.extras, pytest.mark.slow]
pytest.importorskip("schemathesis")
PROGRAM = shutil.which("schemathesis", path=str(Path(sys.executable).parent)) or shutil.which("schemathesis")

# What a document cannot say: that samples come in order of time, and that a tensor has as many numbers as its shape.
LEFT_OUT = "positive_data_acceptance"


@pytest.mark.parametrize("token", ["", "s3cret"])
def test_the_service_keeps_to_its_document(exported, tmp_path, token):
    with Service(exported, tmp_path / "s.db", env={"LIQUIDTIME_TOKEN": token}) as service:
        words = [PROGRAM, "run", f"http://127.0.0.1:{service.port}/openapi.json", "--checks", "all", "--seed", "1"]
        words += ["--exclude-checks", LEFT_OUT, "--max-examples", "30", "--no-color", "--suppress-health-check", "all"]
        words += ["--header", f"Authorization: Bearer {token}"] if token else []
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert "Tested: 16" in done.stdout
        assert service.request("GET", "/health")[0] == 200
