"""Launch-file texts and kernel descriptions for the launch tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

GEMM = """
schema_version = 1
[kernel]
symbol = "gemm*"
kernarg_size = 40
kernarg = [[0, 8, "global_buffer"], [8, 8, "global_buffer"], [16, 8, "global_buffer"],
           [24, 4, "by_value"], [28, 4, "by_value"], [32, 4, "by_value"]]
[shape]
axes = ["M", "N", "K"]
[let]
TM = "16"
tiles = "ceil_div(M, TM)"
[launch]
grid = ["ceil_div(N, 16)", "tiles"]
workgroup = [64]
dynamic_lds = "2*16*K"
[[operand]]
name = "A"
role = "input"
dtype = "bf16"
shape = ["M", "K"]
pitch = "K + 8"
fill = { rule = "integers", low = -2, high = 2 }
[[operand]]
name = "B"
role = "input"
dtype = "bf16"
shape = ["N", "K"]
fill = "normal"
seed = 5
[[operand]]
name = "C"
role = "output"
dtype = "f32"
shape = ["M", "N"]
extra = 4
tile = { start = ["wg_y*16", "wg_x*16"], size = [16, 16] }
[[argument]]
offset = 0
name = "C"
pointer = "C"
[[argument]]
offset = 8
name = "A"
pointer = "A"
byte_offset = "2*M"
[[argument]]
offset = 16
name = "B"
pointer = "B"
[[argument]]
offset = 24
name = "M"
type = "i32"
value = "M"
[[argument]]
offset = 28
name = "alpha"
type = "f32"
value = 1.5
[[argument]]
offset = 32
name = "stride"
type = "u32"
value = "2*(K + 8)"
[[constraint]]
require = "K % 16 == 0"
message = "K must be a multiple of 16"
[work]
flop = "2*M*N*K"
bytes = "2*(M*K+N*K)+4*M*N"
[reference]
function = "matmul_nt"
[tolerance]
rtol = 1e-3
atol = 1e-3
cosine = 0.999
"""


def arg(offset: int, size: int, kind: str, name: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        offset=offset, size=size, value_kind=kind, name=name, value_type=None, address_space=None, access=None
    )


def kernel(name: str = "gemm_x", size: int = 40, args: list[Any] | None = None, **metadata: Any) -> Any:
    """A stand-in with the attributes of isaprof.codeobj.elf.Kernel that the launch layer reads."""
    if args is None:
        args = [arg(o, 8, "global_buffer") for o in (0, 8, 16)] + [
            arg(o, 4, "by_value") for o in (24, 28, 32)
        ]
    return SimpleNamespace(name=name, symbol=name, entry=0, size=16, kernarg_size=size, args=tuple(args),
                           metadata={f".{k}": v for k, v in metadata.items()})  # fmt: skip


def code_object(arch: str = "gfx942", code: bytes = bytes(16)) -> Any:
    return SimpleNamespace(
        arch=arch, target_id=arch, path=None, read=lambda address, n: code[address : address + n]
    )
