"""Compiles the Triton kernels for GPUs that are not here, and says what each needs: registers, spills, shared memory.

    python -m benchmarks.triton_sizes --out triton_sizes.json          every size, 80 86 89 90; minutes
    python -m benchmarks.triton_sizes --sizes 128x128 --capabilities 80

Nothing is run. A kernel that needs more shared memory than its architecture has compiles all the same, and fails when
it is launched; here it is an error.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from liquidtime.ops.cfc_scan.triton.settings import REGISTERS, ROWS, SHARED, SPILLS, sizes_of

SIZES = ((16, 16), (32, 64), (64, 64), (64, 256), (128, 128), (128, 256), (192, 128), (256, 256))
PRECISIONS = ("ieee", "tf32", "bf16")


@dataclasses.dataclass(frozen=True)
class Need:
    """What a compiled kernel needs."""

    kernel: str
    H: int
    U: int
    precision: str
    capability: int
    registers: int
    spills: int
    shared: int

    @property
    def fault(self) -> str | None:
        """Why it cannot be launched, or would be slow; None where all is well."""
        if self.shared > SHARED[self.capability]:
            return f"{self.shared} bytes of shared memory, and there are {SHARED[self.capability]}"
        if self.registers > REGISTERS or self.spills > SPILLS:
            return f"{self.registers} registers, {self.spills} bytes spilled"
        return None


def need_of(kernel: str, H: int, U: int, precision: str, capability: int) -> Need:
    """Compile one kernel for one architecture."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from liquidtime.ops.cfc_scan.triton import kernels

    bf16 = precision == "bf16"
    operands = triton.language.bfloat16 if bf16 else triton.language.float32
    sizes, stored = sizes_of(H, bf16), "*bf16" if bf16 else "*fp32"
    own = {"SAVE": True} if kernel == "forward" else {"NEED_DDT": True}
    constants: dict[str, Any] = {
        "H": H, "U": U, "HP": sizes.padded, "BM": ROWS, "BU": sizes.block, "BK": sizes.part, "GATED": True, "HEADS": 4,
        "ACT": "lecun_tanh", "HEAD_ACT": "tanh", "OPERANDS": operands,
        "PRECISION": "ieee" if bf16 else precision, **own,
    }  # fmt: skip
    function = getattr(kernels, kernel)
    types = {"lengths": "*i64", "wh": stored, "heads": stored, "B": "i32", "T": "i32"}
    signature = {name: "constexpr" if name in constants else types.get(name, "*fp32") for name in function.arg_names}
    source = ASTSource(function, signature=signature, constexprs=constants)
    options = {"num_warps": sizes.warps, "num_stages": sizes.stages}
    built: Any = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    registers, spills = _usage(built.asm["ptx"], capability)
    return Need(kernel, H, U, precision, capability, registers, spills, int(built.metadata.shared))


def _usage(ptx: str, capability: int) -> tuple[int, int]:
    """Return the registers of a thread and the bytes it spills, as NVIDIA's assembler says."""
    from triton import knobs

    assembler = knobs.nvidia.ptxas.path
    name = f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.ptx"
        file.write_text(ptx)
        command = [assembler, "-v", f"--gpu-name={name}", str(file), "-o", str(file.with_suffix(".cubin"))]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    registers = re.search(r"Used (\d+) registers", told)
    spilled = re.findall(r"(\d+) bytes spill (?:stores|loads)", told)
    assert registers is not None, told
    return int(registers[1]), sum(map(int, spilled))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", nargs="*", default=[f"{H}x{U}" for H, U in SIZES], help="HxU")
    parser.add_argument("--precisions", nargs="*", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--capabilities", nargs="*", type=int, default=list(SHARED), choices=list(SHARED))
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    needs = []
    for size in arguments.sizes:
        H, U = map(int, size.split("x"))
        for precision in arguments.precisions:
            for capability in arguments.capabilities:
                for kernel in ("forward", "backward"):
                    need = need_of(kernel, H, U, precision, capability)
                    needs.append(need)
                    print(f"{need} {need.fault or ''}", flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps([dataclasses.asdict(need) for need in needs], indent=1) + "\n")
    faults = [need for need in needs if need.fault]
    if faults:
        sys.exit(f"{len(faults)} of {len(needs)} kernels do not fit")


if __name__ == "__main__":
    main()
