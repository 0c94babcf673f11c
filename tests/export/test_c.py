"""The generated C against the library: two compilers, sanitizers, a microcontroller, error codes, 8-bit weights."""

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import liquidtime as lt
from export.models import MODELS, trained
from liquidtime.export.int8 import graphs_of, whole_series
from liquidtime.export.of_model import step_of
from liquidtime.export.run import run
from liquidtime.export.to_c import STRICT
from oracles.series import random_set

EXAMPLES = Path(__file__).parents[2] / "examples"
ARM = [
    "arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os", "-std=c99",
    "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffunction-sections",
]  # fmt: skip
NEEDS_CC = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc (Debian: apt-get install gcc)")
pytestmark = [NEEDS_CC, pytest.mark.slow]


@pytest.fixture(scope="module")
def model():
    return MODELS["scales"]()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("c") / "folder"
    result = lt.export.c(model, path)
    assert 0 < result.largest_difference < 5e-6
    return path


@pytest.fixture(scope="module")
def library(folder, tmp_path_factory):
    """The model as a shared library, compiled with everything that a compiler may assume away."""
    path = tmp_path_factory.mktemp("so") / "model.so"
    subprocess.run(
        ["gcc", "-Ofast", "-std=c99", "-shared", "-fPIC", str(folder / "model.c"), "-lm", "-o", str(path)], check=True
    )
    return ctypes.CDLL(str(path))


def built(folder, out, *options, sources=("check.c",)):
    files = [str(source) for source in sources]
    command = [*options, f"-I{folder}", "model.c", *files, "-lm", "-o", str(out)]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


@pytest.mark.parametrize("command", [["gcc", *STRICT], ["clang", *STRICT], ["gcc", "-std=c99", "-Ofast"]])
def test_the_program_that_checks_it_compiles_without_a_warning_and_agrees(folder, tmp_path, command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]} (Debian: apt-get install {command[0]})")
    built(folder, tmp_path / "check", *command)
    done = subprocess.run([tmp_path / "check"], check=True, capture_output=True, text=True)
    assert float(done.stdout.split()[-1]) < 5e-6


@pytest.mark.parametrize("name", ["bins", "ltc", "wired", "cf_s_paper", "mixed_memory", "gru"])
def test_every_kind_of_network(name, tmp_path):
    assert lt.export.c(MODELS[name](), tmp_path / "folder").largest_difference < 5e-6


def test_no_memory_error_and_nothing_undefined(folder, tmp_path):
    command = ["gcc", "-std=c99", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    try:
        built(folder, tmp_path / "check", *command)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the compiler has no sanitizers: {error.stderr[-200:]}")
    subprocess.run([tmp_path / "check"], check=True)


def test_a_program_that_differs_says_so(folder, tmp_path):
    for name in ("model.c", "model.h"):
        shutil.copy(folder / name, tmp_path)
    text = (folder / "check.c").read_text()
    begin = text.index("wanted[") + text[text.index("wanted[") :].index("{") + 1
    (tmp_path / "check.c").write_text(text[:begin] + " 0.5 + " + text[begin:].lstrip())
    built(tmp_path, tmp_path / "check", "gcc", *STRICT)
    assert subprocess.run([tmp_path / "check"], check=False).returncode == 1


@pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="needs a Cortex-M4 (Debian: apt-get install gcc-arm-none-eabi qemu-system-arm)",
)
def test_a_cortex_m4_gives_the_same_numbers(folder, tmp_path):
    board = EXAMPLES / "microcontroller"
    link = ["-T", str(board / "board.ld"), "--specs=rdimon.specs", "-nostartfiles", "-Wl,--gc-sections"]
    results = {}
    for program, source in (("check", folder / "check.c"), ("main", board / "main.c")):
        image = tmp_path / f"{program}.elf"
        built(folder, image, *ARM, *link, sources=(source, board / "startup.c"))
        machine = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting", "-kernel", str(image)]
        results[program] = subprocess.run(machine, check=True, capture_output=True, text=True, timeout=120).stdout
    assert float(results["check"].split()[-1]) < 5e-6
    built(folder, tmp_path / "here", "gcc", *STRICT, sources=(board / "main.c",))
    here = subprocess.run([tmp_path / "here"], check=True, capture_output=True, text=True).stdout
    np.testing.assert_allclose(np.array(results["main"].split(), float), np.array(here.split(), float), atol=2e-6)
    assert len(here.split()) == 10


def test_the_control_loop_keeps_its_robots_apart_and_refuses_late_messages(model, folder, tmp_path):
    built(folder, tmp_path / "loop", "gcc", *STRICT, sources=(EXAMPLES / "control_loop" / "control_loop.c",))
    lines = subprocess.run([tmp_path / "loop"], check=True, capture_output=True, text=True).stdout.splitlines()
    model.reset()
    for tick, line in enumerate(lines[:-1]):
        wanted = [model.update(0, tick, {"a": 0.3 * tick}), model.update(1, tick + 0.25, {"a": -0.3 * tick})]
        if tick % 2 == 1:
            wanted[1] = model.update(1, tick + 0.5, {"a": 1.0})
        np.testing.assert_allclose([float(text) for text in line.split()], [each[-1] for each in wanted], atol=5e-6)
    assert lines[-1] == "refused 5 0"


class Live:
    """The state of one series, called as C calls it."""

    def __init__(self, library, folder):
        manifest = json.loads((folder / "model.json").read_text())
        self.state = ctypes.create_string_buffer(manifest["state"]["bytes"] + 8)
        self.outputs = (ctypes.c_double * manifest["outputs"])()
        self.library = library
        library.model_start(self.state)

    def update(self, t, values):
        row = (ctypes.c_float * len(values))(*values)
        return self.library.model_update(self.state, ctypes.c_double(t), row)

    def predict(self, statics):
        code = self.library.model_predict(self.state, (ctypes.c_float * len(statics))(*statics), self.outputs)
        return code, list(self.outputs)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("t", "values", "code"),
    [
        (NAN, [0, 0, 0, 0], 1), (INF, [0, 0, 0, 0], 1), (-INF, [0, 0, 0, 0], 1), (2.9, [0, 0, 0, 0], 2),
        (4.0, [INF, 0, 0, 0], 3), (4.0, [0, -INF, NAN, 0], 3), (4.0, [0, 0, 0, 3], 4), (4.0, [0, 0, 0, 0.5], 4),
        (4.0, [0, 0, 0, -2], 4), (4.0, [0, 0, 0, 3e9], 4), (1e300, [0, 0, 0, 0], 5),
    ],
)  # fmt: skip
def test_a_sample_that_is_refused_changes_nothing_even_under_ofast(library, folder, t, values, code):
    live = Live(library, folder)
    assert live.update(3.0, [1.0, NAN, NAN, 2]) == 0
    before = live.state.raw
    assert live.update(t, values) == code
    assert live.state.raw == before
    assert live.update(3.0, [NAN, NAN, NAN, NAN]) == 0
    assert live.update(3.0, [NAN, NAN, NAN, -1]) == 0


def test_a_prediction_refuses_infinite_static_features(library, folder):
    live = Live(library, folder)
    assert live.predict([INF, 0])[0] == 3
    assert live.predict([NAN, 7])[0] == 4
    code, outputs = live.predict([NAN, NAN])
    assert code == 0
    assert abs(sum(outputs) - 1) < 1e-6


def test_names_and_categories_are_in_the_header(folder):
    header = (folder / "model.h").read_text()
    assert "values[3]  k: 0 = low, 1 = mid, 2 = top" in header
    assert "scale 1: bin_total: sum over the earlier times of the open bin" in header
    assert "Times are numbers in h" in header


def test_a_name_that_would_end_a_comment_does_not(tmp_path):
    data = random_set(0, [9, 8, 9, 8], static=False, categorical=False)
    data = data.replace_unchecked(channels=("a*/ int x; /*", "b\n#error", "ü\\"))
    model = lt.CfCClassifier(hidden_size=4, backbone_units=4, read_out_units=4, epochs=1, random_state=0)
    lt.export.c(model.fit(data, [0, 1, 0, 1]), tmp_path / "folder", name="odd")
    with pytest.raises(ValueError, match="C identifier"):
        lt.export.c(model, tmp_path / "other", name="odd name")


def test_8_bit_weights_are_a_quarter_and_what_they_change_is_said(model, folder, tmp_path):
    data = random_set(0, [60, 50, 1, 0, 70, 55])
    y = np.arange(len(data)) % 3
    result = lt.export.c(model, tmp_path / "small", data=data, target=y, int8=True)
    small, large = ((path / "model.c").stat().st_size for path in (tmp_path / "small", folder))
    assert small < 0.7 * large
    assert "area under ROC" in result.facts["int8"]
    before, after = (whole_series(step_of(model), data, int8) for int8 in (False, True))
    np.testing.assert_allclose(before, model.predict_proba(data), atol=5e-6)
    assert 1e-6 < np.abs(after - before).max() < 0.02
    with pytest.raises(ValueError, match=r"`target` must have shape \(S,\)"):
        lt.export.c(model, tmp_path / "other", data=data, target=y[:2], int8=True)


def test_the_graph_gives_what_the_step_gives():
    step = step_of(trained(network="cf_s", bin_width=3.0))
    advance, _ = graphs_of(step, int8=False)
    C, F = len(step.encoder.channels_), len(step.encoder.static_names_)
    state, seen = step.start(3), torch.rand(3, C) < 0.5
    given = {"doubles": state[0], "floats": state[1], "t": torch.ones(3).double(), "values": torch.ones(3, C)}
    given |= {"seen": seen, "static": torch.zeros(3, F), "known": torch.zeros(3, F)}
    made = run(advance, given)
    with torch.inference_mode():
        wanted = step.advance(state, given["t"], given["values"], seen)
    assert torch.equal(made["doubles_after"], wanted.doubles)
    torch.testing.assert_close(made["floats_after"], wanted.floats)


def test_without_a_compiler_it_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="needs a C compiler"):
        lt.export.c(trained(), tmp_path / "folder")
    assert not list(tmp_path.iterdir())
