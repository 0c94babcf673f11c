"""Export to a web page: one HTML file that runs the model in the browser, offline."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from liquidtime.data import SeriesSet
from liquidtime.export.c_file import c_files
from liquidtime.export.folder import Exported, scratch_folder, write_exported
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.int8 import change_in_words, predictions
from liquidtime.export.manifest import NAME, manifest
from liquidtime.export.of_model import loaded, step_of
from liquidtime.export.parts import ALL, ALONE, is_stack
from liquidtime.export.parts import change_in_words as lacks_in_words
from liquidtime.export.step import Step
from liquidtime.export.to_c import INT8_ROUNDING, compiled_check
from liquidtime.export.vectors import BOUND, Vector, vectors_of
from liquidtime.files.contents import json_to_bytes

_GLUE = """#include "model.c"
#define SAYS(name) __attribute__((export_name(name)))
static model_state state;
static float values[MODEL_CHANNELS + 1], statics[MODEL_STATICS + 1];
static double prediction[MODEL_OUTPUTS];
SAYS("values") float *values_at(void) { return values; }
SAYS("statics") float *statics_at(void) { return statics; }
SAYS("prediction") double *prediction_at(void) { return prediction; }
SAYS("start") void start(void) { model_start(&state); }
SAYS("update") int update(double t) { return model_update(&state, t, values); }
"""
_READ = 'SAYS("predict") int predict(void) { return model_predict(&state, statics, prediction); }\n'
_ASK = """static float known[MODEL_KNOWN + 1];
SAYS("known") float *known_at(void) { return known; }
SAYS("ask") int ask(double t, double coverage)
{
    return model_forecast(&state, t, statics, known, coverage, prediction);
}
"""
_DATE = 'SAYS("date") void date(double since_1970) { model_set_origin(&state, since_1970); }\n'
_WASM = ("clang", "--target=wasm32", "-O3", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry", "-Wl,--strip-all")
_STACK = 65_536
_LARGE = 1_000_000


def web(
    model: Any,
    path: str | Path,
    *,
    data: SeriesSet | None = None,
    target: Any = None,
    part: str = ALL,
    memory: int | None = None,
    int8: bool | None = None,
) -> Exported:
    """Write a folder with `index.html`, a page that needs no server and no network, and `model.json`.

    Args:
        model: a fitted estimator, or its folder.
        path: the folder to write.
        data: series for the test vectors, which the page shows as examples; None for made-up series.
        target: targets of `data` as for `fit`, used to measure the effect of 8-bit weights and of exporting only a
            part.
        part: for a stack: "networks" for only the networks, since its other parts read whole series.
        memory: for a forecaster: how many of the newest values of each channel are stored; None for as many as needed
            by `data`, or by series as dense as usual in training.
        int8: whether weights are stored in 8 bits; None to do so if the page would have more than 1 MB of weights.

    Raises:
        ValueError: the model cannot be exported.
        CheckFailed: the code differs from the model; nothing was written.
        FileNotFoundError: clang, wasm-ld or a C compiler is not installed.

    """
    for tool, package in (("clang", "clang"), ("wasm-ld", "lld")):
        if shutil.which(tool) is None:
            raise FileNotFoundError(
                f"exporting to a web page needs {tool}: install it (Debian: apt-get install {package})"
            )
    model = loaded(model)
    step = step_of(model, part, memory=memory, data=data)
    vectors = vectors_of(step, data)
    checked, facts = vectors, {}
    if is_stack(model) and part == ALONE:
        facts["part"] = lacks_in_words(model, data, target)
    if int8 is None:
        int8 = c_files(step, "model", [], False).weights > _LARGE
    if int8:
        checked = predictions(step, vectors)
        facts["int8"] = change_in_words(step, vectors, checked, data, target)
    files = c_files(step, "model", checked, int8, INT8_ROUNDING if int8 else BOUND)
    sources = {
        "model.h": files.header.encode(),
        "model.c": files.source.encode(),
        "check.c": files.check.encode(),
        "glue.c": _glue(step).encode(),
    }
    with scratch_folder(sources) as folder:
        difference, microseconds = compiled_check(folder, "model")
        stack = f"-Wl,-z,stack-size={_STACK + 16 * (files.scratch // 16 + 1)}"
        subprocess.run([*_WASM, stack, "glue.c", "-o", "model.wasm"], cwd=folder, check=True)
        code = (folder / "model.wasm").read_bytes()
    described = manifest(step, "web", real_vectors=data is not None) | {"facts": facts}
    page = page_of(step, described, checked, code, INT8_ROUNDING if int8 else BOUND)
    contents = {
        "index.html": page.encode(),
        "vectors.json": json_to_bytes([vector.to_dict() for vector in checked]),
        NAME: json_to_bytes(described, indent=1),
    }
    facts["model"] = f"{len(code):,} bytes of WebAssembly, run by the page itself, which checks it when it is opened"
    return write_exported(Path(path), contents, difference, microseconds, facts)


def _glue(step: Step) -> str:
    """Return the C code between the model and the page."""
    if not isinstance(step, ForecastStep):
        return _GLUE + _READ
    return _GLUE + _ASK + (_DATE if step.clock else "")


def page_of(step: Step, described: dict[str, Any], vectors: list[Vector], code: bytes, bound: float) -> str:
    """Return the page: a template filled with the model, its description and its test vectors."""
    template = Path(__file__).with_name("web_page.html").read_text(encoding="utf-8")
    parts = {
        "MANIFEST": _inside_script(described),
        "VECTORS": _inside_script([vector.to_dict() for vector in vectors]),
        "SPREAD": _inside_script(step.spread.tolist()),
        "BOUND": repr(bound),
        "WASM": base64.b64encode(code).decode(),
    }
    for name, text in parts.items():
        template = template.replace(f"/*{name}*/", text)
    return template


def _inside_script(values: Any) -> str:
    """Return JSON that cannot end a script, whatever the names of channels are."""
    return json.dumps(values, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
