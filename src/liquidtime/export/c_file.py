"""The C of a model: a header, a source file, and a program that checks it against test vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from liquidtime._version import __version__
from liquidtime.export.c_check import check_of
from liquidtime.export.c_constants import Constants, literal
from liquidtime.export.c_function import Body, FunctionWriter
from liquidtime.export.c_header import Prediction, header_of
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.graphs import advance_graph, read_graph
from liquidtime.export.quantise import quantised
from liquidtime.export.step import Step
from liquidtime.export.vectors import BOUND, Vector

_MATHS = """#if defined(__wasm__)
#include <stddef.h>
#define memcpy __builtin_memcpy
#define LT_FLOOR(v) __builtin_floor(v)
#define LT_SQRT(v) __builtin_sqrt(v)
#else
#include <math.h>
#include <string.h>
#define LT_FLOOR(v) floor(v)
#define LT_SQRT(v) sqrt(v)
#endif
#if defined(__GNUC__)
#define LT_UNUSED __attribute__((unused))
#else
#define LT_UNUSED
#endif
"""


@dataclass(frozen=True)
class CFiles:
    """The files of a model in C.

    Args:
        header: text.
        source: text.
        check: text of a program that runs the test vectors.
        weights: bytes of constants.
        scratch: bytes that a call needs on the stack.
    """

    header: str
    source: str
    check: str
    weights: int
    scratch: int


def c_files(step: Step, name: str, vectors: Sequence[Vector], int8: bool, bound: float = BOUND) -> CFiles:
    """Write a model in C99.

    Args:
        step: the model.
        name: that files and functions start with; a C identifier.
        vectors: for the program that checks it; without any there is none.
        int8: whether weights are stored in 8 bits.
        bound: largest difference that the check allows, in the unit of `BOUND`.

    Raises:
        ValueError: a name that is no C identifier, or an operation that has no counterpart in C.

    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise ValueError(f"the name must be a C identifier such as 'heart_model'; got {name!r}")
    advance, read = advance_graph(step), read_graph(step)
    constants = Constants(quantised([advance, read]) if int8 else {})
    inputs = {"doubles": "state->d", "floats": "state->f", "t": "t", "values": "v", "seen": "seen"}
    inputs |= {"static": "v", "known": "seen", "asked": "t", "future": "f", "given": "given", "coverage": "coverage"}
    taken = FunctionWriter(advance, inputs, {"doubles_after": "after.d", "floats_after": "after.f"}, constants).write()
    given = FunctionWriter(read, inputs, {"prediction": "prediction"}, constants).write()
    scratch = max(taken.nbytes + step.layout.nbytes, given.nbytes)
    source = "\n".join(
        [
            f"/* Made by liquidtime {__version__}; {'8-bit' if int8 else 'float32'} weights. See {name}.h. */",
            f'#include "{name}.h"\n#include <stdint.h>',
            _MATHS,
            _runtime(taken.needs | given.needs),
            *constants.lines,
            _functions(step, name, taken, given),
        ]
    )
    return CFiles(
        header_of(step, name, constants.nbytes, scratch, int8),
        source,
        check_of(step, name, vectors, bound),
        constants.nbytes,
        scratch,
    )


def _asked(step: Step, upper: str) -> str:
    """Return C that refuses questions which a forecaster has no answer to."""
    if not isinstance(step, ForecastStep):
        return ""
    K, newest = len(step.known_channels), {field.name: field.start for field in step.layout.fields[:2]}
    lines = [
        f"    float f[{K}];\n    uint8_t given[{K}];" if K else "    (void)known;",
        f"    if (!(state->d[{newest['started']}] > 0.0)) return {upper}_NO_SAMPLE;",
        f"    if (!lt_finite(t)) return {upper}_TIME_NOT_FINITE;",
        f"    if (t < state->d[{newest['time']}]) return {upper}_TIME_BACKWARD;",
        f"    if (!lt_finite(coverage) || coverage <= 0.0 || coverage > 0.99) return {upper}_COVERAGE;",
    ]
    if K:
        lines += [
            f"    for (int i = 0; i < {K}; i++) {{",
            "        given[i] = (uint8_t)!lt_nan_f(known[i]);",
            f"        if (given[i] && !lt_finite_f(known[i])) return {upper}_VALUE_INFINITE;",
            "        f[i] = 0.0f;\n        if (given[i]) f[i] = known[i];",
            "    }",
        ]
    return "\n".join(lines) + "\n"


def _functions(step: Step, name: str, taken: Body, given: Body) -> str:
    encoder, upper, layout = step.encoder, name.upper(), step.layout
    C, F, K = len(encoder.channels_), len(encoder.static_names_), step.outputs
    newest = {field.name: field.start for field in layout.fields[:2]}
    rows = f"    float v[{F}];\n    uint8_t seen[{F}];\n" if F else ""
    statics = _cleaned(step, "statics", encoder.static_names_, upper) if F else "    (void)statics;\n"
    return f"""
void {name}_start({name}_state *state)
{{
    for (int i = 0; i < {layout.doubles}; i++) state->d[i] = 0.0;
    for (int i = 0; i < {layout.floats}; i++) state->f[i] = 0.0f;
}}

int {name}_update({name}_state *state, double t, const float values[{C}])
{{
    {name}_state after;
    float v[{C}];
    uint8_t seen[{C}];
{_scratch(taken)}    if (!lt_finite(t)) return {upper}_TIME_NOT_FINITE;
    if (state->d[{newest["started"]}] > 0.0 && t < state->d[{newest["time"]}]) return {upper}_TIME_BACKWARD;
{_cleaned(step, "values", encoder.channels_, upper)}
{_indented(taken)}
    for (int i = 0; i < {layout.doubles}; i++) if (!lt_finite(after.d[i])) return {upper}_OVERFLOW;
    for (int i = 0; i < {layout.floats}; i++) if (!lt_finite_f(after.f[i])) return {upper}_OVERFLOW;
    *state = after;
    return {upper}_OK;
}}

{Prediction(step, name).head}
{{
{rows}{_scratch(given)}{_asked(step, upper)}{statics}
{_indented(given)}
    for (int i = 0; i < {K}; i++) if (!lt_finite(prediction[i])) return {upper}_OVERFLOW;
    return {upper}_OK;
}}
"""


def _cleaned(step: Step, argument: str, names: Sequence[str], upper: str) -> str:
    """Return C that tells what was observed from what was not, and refuses what is neither."""
    n = len(names)
    lines = [
        f"    for (int i = 0; i < {n}; i++) {{",
        f"        seen[i] = (uint8_t)!lt_nan_f({argument}[i]);",
        f"        if (seen[i] && !lt_finite_f({argument}[i])) return {upper}_VALUE_INFINITE;",
        f"        v[i] = 0.0f;\n        if (seen[i]) v[i] = {argument}[i];",
        "    }",
    ]
    for c, name in enumerate(names):
        labels = step.encoder.categories_.get(name)
        if labels is not None:
            wrong = f"v[{c}] < -1.0f || v[{c}] > {literal(len(labels) - 1, 'float')} || v[{c}] != (float)(int)v[{c}]"
            lines.append(f"    if (seen[{c}] && ({wrong})) return {upper}_NO_CATEGORY;")
    return "\n".join(lines) + "\n"


def _scratch(body: Body) -> str:
    return "".join(f"    {kind} w{kind[0]}[{count}];\n" for kind, count in sorted(body.scratch.items()) if count)


def _indented(body: Body) -> str:
    return "\n".join(f"    {line}" for line in body.lines)


def _runtime(needs: set[str]) -> str:
    """Return the parts of the runtime that a model calls, in their order."""
    text = Path(__file__).with_name("c_runtime.c").read_text(encoding="utf-8")
    head, *parts = re.split(r"^//@ (.*)\n", text, flags=re.MULTILINE)
    sections = {
        title.split()[0]: (title.split()[1:], code) for title, code in zip(parts[::2], parts[1::2], strict=True)
    }
    wanted = {"always"}
    waiting = list(needs)
    while waiting:
        part = waiting.pop()
        wanted.add(part)
        waiting += sections[part][0]
    return head + "".join(code for title, (_, code) in sections.items() if title in wanted)
