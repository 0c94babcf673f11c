"""The header of a model in C: its functions, codes, channels and state, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from liquidtime._version import __version__
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.layout import FORMAT
from liquidtime.export.step import Step

CODES = (
    ("OK", "the sample was taken"),
    ("TIME_NOT_FINITE", "the time is NaN or infinite"),
    ("TIME_BACKWARD", "the time is before that of the newest sample"),
    ("VALUE_INFINITE", "a value is infinite (NaN is right: not observed)"),
    ("NO_CATEGORY", "a category is none of -1 (unknown), 0, 1, ..."),
    ("OVERFLOW", "the sample leads to numbers that are not finite"),
)
FORECAST_CODES = (
    ("NO_SAMPLE", "a forecast was asked for before the first sample"),
    ("COVERAGE", "the share of values that intervals are to hold is not over 0 and at most 0.99"),
)


def codes_of(step: Step) -> tuple[tuple[str, str], ...]:
    """Return the codes that the functions of a model return, from 0 on, with their meaning."""
    return CODES + (FORECAST_CODES if isinstance(step, ForecastStep) else ())


class Prediction:
    """How a model in C is asked for its prediction.

    Args:
        step: the model.
        name: that functions start with.

    Attributes:
        head: of the function's definition; with what belongs to it.
        declaration: the same in a header.
        usage: a line of the header's first comment.
        known: lines about the channels whose future is given.
        sizes: further sizes.
    """

    def __init__(self, step: Step, name: str) -> None:
        upper, K = name.upper(), step.outputs
        self.known, self.sizes = "", ""
        start = f"int {name}_predict(const {name}_state *state, const float *statics, double prediction[{K}])"
        self.head = start
        self.declaration = f"/* Predict from the samples so far, perhaps none; 0, or a code. */\n{start};"
        self.usage = f" *   code = {name}_predict(&state, statics, prediction);        whenever it is wanted"
        if not isinstance(step, ForecastStep):
            return
        start = (
            f"int {name}_forecast(const {name}_state *state, double t, const float *statics, const float *known,\n"
            f"    double coverage, double prediction[{K}])"
        )
        self.head = start
        self.declaration = (
            "/* Forecast at a time t that is not before the newest sample; 0, or a code. Intervals hold the share\n"
            f" * `coverage` of values, over 0 and at most 0.99, such as 0.9. */\n{start};"
        )
        self.usage = f" *   code = {name}_forecast(&state, t, statics, known, 0.9, prediction);     at any later time"
        names = step.known_channels
        self.sizes = f"enum {{ {upper}_KNOWN = {len(names)} }};\n"
        self.known = listed("known", [f"{own} at the time asked for; NAN: as it is" for own in names])
        self.known = f"{self.known or ' *   no channel has a known future: known may be NULL'}\n"
        if not step.clock:
            return
        origin = f"void {name}_set_origin({name}_state *state, double since_1970)"
        self.declaration += (
            "\n\n/* Say, before the first sample, when the time 0 of a series was, in time units since the beginning\n"
            f" * of 1970, UTC; forecasts then know hour and weekday. */\n{origin};"
        )
        places = [field.start for field in step.clock.values()]
        body = f"{{\n    state->d[{places[0]}] = since_1970;\n    state->d[{places[1]}] = 1.0;\n}}\n"
        self.head = f"{origin}\n{body}\n{start}"


def header_of(step: Step, name: str, weights: int, scratch: int, int8: bool) -> str:
    """Return the header.

    Args:
        step: the model.
        name: that functions start with.
        weights: bytes of constants.
        scratch: bytes of stack that a call needs.
        int8: whether weights are stored in 8 bits.
    """
    encoder, upper = step.encoder, name.upper()
    C, F, K = len(encoder.channels_), len(encoder.static_names_), step.outputs
    channels = "\n".join(f" *   values[{c}]  {comment(text)}" for c, text in enumerate(named(step, encoder.channels_)))
    statics = listed("statics", named(step, encoder.static_names_))
    classes = listed("prediction", step.output_names)
    kind = Prediction(step, name)
    fields = "\n".join(
        f" *   {field.kind[0]}[{field.start}], {field.size} of them: {comment(field.name)}: {comment(field.meaning)}"
        for field in step.layout.fields
    )
    codes = "\n".join(
        f"    {upper}_{code} = {number}, /* {text} */" for number, (code, text) in enumerate(codes_of(step))
    )
    return f"""/* A trained model in C99: no allocation, no global state, any number of series side by side.
 *
 * Made by liquidtime {__version__}. Constants {weights:,} bytes ({"8-bit" if int8 else "float32"} weights); each series
 * {step.layout.nbytes:,} bytes; a call needs {scratch:,} bytes of stack.
 *
 *   {name}_state state;
 *   {name}_start(&state);
 *   code = {name}_update(&state, t, values);                   after each sample; NAN for what was not observed
{kind.usage}
 *
 * Times are numbers in {comment(encoder.time_unit_ or "the unit of training")}, never before the newest one.
 * The units of values are those of training.
{channels}
{statics or " *   there are no static features: statics may be NULL"}
{kind.known}{classes}
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
{kind.sizes}
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

{kind.declaration}

#ifdef __cplusplus
}}
#endif
#endif
"""


def named(step: Step, names: Sequence[str]) -> list[str]:
    """Return each channel's name, with its categories."""
    texts = []
    for name in names:
        labels = step.encoder.categories_.get(name, ())
        codes = ", ".join(f"{k} = {label}" for k, label in enumerate(labels))
        texts.append(f"{name}: {codes}" if labels else name)
    return texts


def listed(array: str, texts: Sequence[str]) -> str:
    """Return lines of a comment that say what the numbers of an array are."""
    return "\n".join(f" *   {array}[{k}]  {comment(text)}" for k, text in enumerate(texts))


def comment(text: str) -> str:
    """Return a text that ends no comment, on one line, in ASCII."""
    plain = text.encode("ascii", "replace").decode()
    return re.sub(r"\s+", " ", plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?"))
