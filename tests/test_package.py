"""The package as a whole: what it exports, and what it costs to start."""

import json
import subprocess
import sys

import pytest

import liquidtime as lt
import processes


def test_every_public_name_is_there():
    for name in lt.__all__:
        assert getattr(lt, name) is not None
    assert set(lt.__all__) <= set(dir(lt))
    with pytest.raises(AttributeError, match="no attribute 'CFC'"):
        lt.CFC  # noqa: B018


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_help_does_not_import_torch():
    out = run(
        "import sys; sys.argv = ['liquidtime', '--help']\n"
        "from liquidtime.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print('torch' in sys.modules, 'numpy' in sys.modules)"
    )
    assert "Usage" in out
    assert out.strip().endswith("False False")


def test_info_says_what_is_installed():
    code = "import sys; sys.argv = ['liquidtime', 'info', '--json']\nfrom liquidtime.cli import main\nmain()"
    _, out, _ = processes.run("-c", code)
    assert json.loads(out)["liquidtime"] == lt.__version__


WITHOUT_POSIX = """
import importlib, pathlib, sys

ABSENT = {"fcntl", "resource", "termios", "pwd", "grp"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ABSENT:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
import liquidtime

root = pathlib.Path(liquidtime.__file__).parent
files = [file for file in sorted(root.rglob("*.py")) if file.name != "__main__.py"]
for file in files:
    name = ".".join(file.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
    try:
        importlib.import_module(name)
    except ImportError as error:
        if "pip install 'liquidtime[" not in str(error):  # an extra that is not here, and is named
            print(f"{name}: {error}")
print(len(files))
"""


@pytest.mark.slow
def test_every_module_can_be_imported_where_there_is_no_posix():
    """Windows has no `fcntl` and its like."""
    _, out, err = processes.run("-c", WITHOUT_POSIX)
    *failures, count = (out or err).splitlines()
    assert failures == []
    assert int(count) > 200
