"""The program that compares a model in C with test vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from liquidtime.export.c_constants import literal
from liquidtime.export.forecast_step import ForecastStep
from liquidtime.export.step import Step
from liquidtime.export.vectors import Vector


def check_of(step: Step, name: str, vectors: Sequence[Vector], bound: float) -> str:
    """Return the program; arguments as in `c_files`."""
    upper, F = name.upper(), len(step.encoder.static_names_)
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
    dated = ""
    if isinstance(step, ForecastStep):
        questions = [vector.questions for vector in vectors if vector.questions is not None]
        K = len(step.known_channels)
        future = np.concatenate([each.future.reshape(-1) for each in questions]) if K else np.zeros(1)
        tables += [
            _table("double", "asked", np.concatenate([each.asked for each in questions])),
            _table("double", "coverages", np.concatenate([each.coverage for each in questions])),
            _table("float", "future", future),
        ]
        if step.clock:
            tables.append(_table("double", "origins", np.array([each.origin or 0.0 for each in questions])))
            dated = f"\n        {name}_set_origin(&state, origins[s]);"

    def call(sample: str) -> str:
        if isinstance(step, ForecastStep):
            return (
                f"{name}_forecast(&state, asked[{sample}], statics + s * {upper}_STATICS,"
                f" future + {sample} * {upper}_KNOWN, coverages[{sample}], prediction)"
            )
        return f"{name}_predict(&state, statics + s * {upper}_STATICS, prediction)"

    return f"""/* Compares {name}.c with the library after each sample of {len(lengths)} series; 0 if they agree.
  * With -DMEASURE it also prints the time per sample. */
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
        {name}_start(&state);{dated}
        for (int k = 0; k < lengths[s]; k++, sample++) {{
            int code = {name}_update(&state, times[sample], values + sample * {upper}_CHANNELS);
            if (code == 0) code = {call("sample")};
            if (code != 0) {{
                printf("series %d, sample %d: code %d\\n", s, k, code);
                return 2;
            }}
            for (int i = 0; i < {upper}_OUTPUTS; i++) {{
                const double apart = fabs(prediction[i] - wanted[sample * {upper}_OUTPUTS + i]) / spread[i];
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
                {name}_start(&state);{dated}
                for (int k = 0; k < lengths[s]; k++, at++) {{
                    if ({name}_update(&state, times[at], values + at * {upper}_CHANNELS) != 0) return 2;
                    if ({call("at")} != 0) return 2;
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
