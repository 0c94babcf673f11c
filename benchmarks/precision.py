"""What do products with bf16 operands lose?

python benchmarks/precision.py [--out results/bench/precision.json]

The errors of a training step against float64, at the paper's sizes, with initial weights: of the outputs, and of the
gradients of the samples and the weights, in parts of their scale.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from liquidtime.bench.cases import PHYSIONET, WALKER2D, XOR
from liquidtime.bench.precision import precision

SHAPES = {"xor": XOR, "walker2d": WALKER2D, "physionet": PHYSIONET}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    out = parser.parse_args().out
    found = {name: {kind: precision(shape, kind) for kind in ("full", "bf16")} for name, shape in SHAPES.items()}
    print("| case | products | outputs, largest and rms | gradients of samples | gradients of weights |")
    print("|---|---|---|---|---|")
    for name, kinds in found.items():
        for kind, losses in kinds.items():
            cells = [f"{loss.largest:.1e}, {loss.rms:.1e}" for loss in losses.values()]
            print(f"| {name}, {SHAPES[name]} | {kind} | {' | '.join(cells)} |")
    if out is not None:
        figures = {
            name: {
                kind: {of: dataclasses.asdict(loss) for of, loss in losses.items()} for kind, losses in kinds.items()
            }
            for name, kinds in found.items()
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
