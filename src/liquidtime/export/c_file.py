"""The C of a model: a header, a source file, and a program that checks it against test vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from liquidtime._version import __version__
from liquidtime.export.c_constants import Constants, literal
from liquidtime.export.c_function import Body, FunctionWriter
from liquidtime.export.layout import FORMAT
from liquidtime.export.quantise import quantised
from liquidtime.export.step import Step, part_of, read_graph, step_graph
from liquidtime.export.vectors import BOUND, Vector

CODES = (
    ("OK", "the sample was taken"),
    ("TIME_NOT_FINITE", "the time is NaN or infinite"),
    ("TIME_BACKWARD", "the time is before that of the newest sample"),
    ("VALUE_INFINITE", "a value is infinite (NaN is right: not observed)"),
    ("NO_CATEGORY", "a category is none of -1 (unknown), 0, 1, ..."),
    ("OVERFLOW", "the sample leads to numbers that are not finite"),
)
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
    advance, read = part_of(step_graph(step), ("doubles_after", "floats_after")), read_graph(step)
    constants = Constants(quantised([advance, read]) if int8 else {})
    inputs = {"doubles": "state->d", "floats": "state->f", "t": "t", "values": "v", "seen": "seen"}
    inputs |= {"static": "v", "known": "seen"}
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
        _header(step, name, constants.nbytes, scratch, int8),
        source,
        _check(step, name, vectors, bound),
        constants.nbytes,
        scratch,
    )


def _header(step: Step, name: str, weights: int, scratch: int, int8: bool) -> str:
    encoder, upper = step.encoder, name.upper()
    C, F, K = len(encoder.channels_), len(encoder.static_names_), step.outputs
    channels = "\n".join(
        f" *   values[{c}]  {_comment(text)}" for c, text in enumerate(_named(step, encoder.channels_))
    )
    statics = _listed("statics", _named(step, encoder.static_names_))
    classes = _listed("prediction", step.output_names)
    fields = "\n".join(
        f" *   {field.kind[0]}[{field.start}], {field.size} of them: {_comment(field.name)}: {_comment(field.meaning)}"
        for field in step.layout.fields
    )
    codes = "\n".join(f"    {upper}_{code} = {number}, /* {text} */" for number, (code, text) in enumerate(CODES))
    return f"""/* A trained model in C99: no allocation, no global state, any number of series side by side.
 *
 * Made by liquidtime {__version__}. Constants {weights:,} bytes ({"8-bit" if int8 else "float32"} weights); each series
 * {step.layout.nbytes:,} bytes; a call needs {scratch:,} bytes of stack.
 *
 *   {name}_state state;
 *   {name}_start(&state);
 *   code = {name}_update(&state, t, values);                   after each sample; NAN for what was not observed
 *   code = {name}_predict(&state, statics, prediction);        whenever it is wanted
 *
 * Times are numbers in {_comment(encoder.time_unit_ or "the unit of training")}, never before the newest one.
 * The units of values are those of training.
{channels}
{statics or " *   there are no static features: statics may be NULL"}
{classes}
 *
 * The state, format {FORMAT}; all zeros before the first sample:
{fields}
 */
#ifndef {upper}_H
#define {upper}_H

#ifdef __cplusplus
extern "C" {{
#endif

enum {{ {upper}_CHANNELS = {C}, {upper}_STATICS = {F}, {upper}_OUTPUTS = {K}, {upper}_FORMAT = {FORMAT} }};

enum {{
{codes.rstrip(",")}
}};

typedef struct {{
    double d[{step.layout.doubles}];
    float f[{step.layout.floats}];
}} {name}_state;

/* Start a series. */
void {name}_start({name}_state *state);

/* Take a sample; 0, or a code, and then nothing was taken. */
int {name}_update({name}_state *state, double t, const float values[{C}]);

/* Predict from the samples so far, perhaps none; 0, or a code. */
int {name}_predict(const {name}_state *state, const float *statics, double prediction[{K}]);

#ifdef __cplusplus
}}
#endif
#endif
"""


def _functions(step: Step, name: str, taken: Body, given: Body) -> str:
    encoder, upper, layout = step.encoder, name.upper(), step.layout
    C, F, K = len(encoder.channels_), len(encoder.static_names_), step.outputs
    newest = {field.name: field.start for field in layout.fields[:2]}
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

int {name}_predict(const {name}_state *state, const float *statics, double prediction[{K}])
{{
{f"    float v[{F}];{chr(10)}    uint8_t seen[{F}];{chr(10)}" if F else ""}{_scratch(given)}{statics}
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


def _check(step: Step, name: str, vectors: Sequence[Vector], bound: float) -> str:
    upper, K, F = name.upper(), step.outputs, len(step.encoder.static_names_)
    if not vectors:
        return ""
    times = np.concatenate([vector.times for vector in vectors])
    values = np.concatenate([vector.values for vector in vectors])
    wanted = np.concatenate([vector.predictions for vector in vectors])
    lengths = [len(vector.times) for vector in vectors]
    statics = np.concatenate([vector.static for vector in vectors]) if F else np.zeros(1)
    tables = [
        _table("double", "times", times),
        _table("float", "values", values),
        _table("double", "wanted", wanted),
        _table("float", "statics", statics),
        _table("double", "spread", step.spread),
        f"static const int lengths[{len(lengths)}] = {{{', '.join(map(str, lengths))}}};",
    ]
    return f"""/* Compares {name}.c with the library after each sample of {len(lengths)} series; 0 if they agree.
 * With -DMEASURE it says how long a sample takes. */
#include "{name}.h"
#include <math.h>
#include <stdio.h>
#ifdef MEASURE
#include <time.h>
#endif

{chr(10).join(tables)}

int main(void)
{{
    double largest = 0.0, prediction[{upper}_OUTPUTS];
    int sample = 0;
    for (int s = 0; s < {len(lengths)}; s++) {{
        {name}_state state;
        {name}_start(&state);
        for (int k = 0; k < lengths[s]; k++, sample++) {{
            int code = {name}_update(&state, times[sample], values + sample * {upper}_CHANNELS);
            if (code == 0) code = {name}_predict(&state, statics + s * {upper}_STATICS, prediction);
            if (code != 0) {{
                printf("series %d, sample %d: code %d\\n", s, k, code);
                return 2;
            }}
            for (int i = 0; i < {K}; i++) {{
                const double apart = fabs(prediction[i] - wanted[sample * {K} + i]) / spread[i];
                if (apart > largest) largest = apart;
            }}
        }}
    }}
    printf("samples %d\\nlargest difference %.3g\\n", sample, largest);
#ifdef MEASURE
    {{
        const clock_t begin = clock();
        int rounds = 0;
        do {{
            int at = 0;
            for (int s = 0; s < {len(lengths)}; s++) {{
                {name}_state state;
                {name}_start(&state);
                for (int k = 0; k < lengths[s]; k++, at++) {{
                    if ({name}_update(&state, times[at], values + at * {upper}_CHANNELS) != 0) return 2;
                    if ({name}_predict(&state, statics + s * {upper}_STATICS, prediction) != 0) return 2;
                }}
            }}
            rounds++;
        }} while (clock() - begin < CLOCKS_PER_SEC / 20);
        printf("microseconds %.3g\\n", 1e6 * (double)(clock() - begin) / CLOCKS_PER_SEC / rounds / sample);
    }}
#endif
    return largest <= {bound!r} ? 0 : 1;
}}
"""


def _table(kind: str, name: str, numbers: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    flat = np.asarray(numbers).reshape(-1).tolist()
    texts = ["NAN" if number != number else literal(number, kind) for number in flat]
    rows = [", ".join(texts[start : start + 10]) for start in range(0, len(texts), 10)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n    " + ",\n    ".join(rows) + "};"


def _named(step: Step, names: Sequence[str]) -> list[str]:
    """Return each channel's name, with its categories."""
    texts = []
    for name in names:
        labels = step.encoder.categories_.get(name, ())
        codes = ", ".join(f"{k} = {label}" for k, label in enumerate(labels))
        texts.append(f"{name}: {codes}" if labels else name)
    return texts


def _listed(array: str, texts: Sequence[str]) -> str:
    """Return lines of a comment that say what the numbers of an array are."""
    return "\n".join(f" *   {array}[{k}]  {_comment(text)}" for k, text in enumerate(texts))


def _comment(text: str) -> str:
    """Return a text that ends no comment, on one line, in ASCII."""
    plain = text.encode("ascii", "replace").decode()
    return re.sub(r"\s+", " ", plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?"))
