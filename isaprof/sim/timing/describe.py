"""The constants of the timing model as a table for docs/timing-model.md.

``python -m isaprof.sim.timing.describe`` prints it; a test compares it with
the document.
"""

from __future__ import annotations

from isaprof import arch as tables
from isaprof.sim.timing import calibration
from isaprof.sim.timing.calibration import Constants

#: architectures shown, one of each family and their exceptions
_SHOWN = ("gfx942", "gfx950", "gfx1100", "gfx1201")
#: facts of the architecture tables that the model uses directly
_ARCH_KEYS = (
    "issue_period", "valu_dep_latency", "valu_queue", "valu_per_turn", "valu_to_mem", "valu_sgpr_to_salu",
    "salu_to_smem", "salu_to_vmem", "scmp_to_branch", "salu_to_branch", "exec_to_branch",
    "vcmp_to_vcc_branch", "branch_taken", "branch_not_taken", "barrier_release", "matrix_to_valu",
    "lds_read_latency", "lds_write_latency", "lds_read_cycles", "lds_return_cycles", "lds_write_cycles",
    "lds_taken_to_valu", "vmem_return_lines", "icache_wave_cycles", "smem_hit", "l1_latency",
    "mid_l1_latency", "l2_latency", "mall_latency_ns", "dram_latency_ns", "smem_cold", "global_cold",
    "global_cold_few_lanes",
    "wave_launch", "wave_start_warm", "wave_start_cold", "icache_miss_cold", "endpgm_idle",
    "endpgm_after_store",
)  # fmt: skip


def constants_table() -> str:
    """Markdown: one row a constant, its value and confidence on each architecture, and the sources."""
    all_constants = [Constants(tables.get(name)) for name in _SHOWN]
    keys = dict.fromkeys(_ARCH_KEYS)
    for name in _SHOWN:
        keys.update(dict.fromkeys(calibration.get(name).facts))
    rows = [f"| constant | unit | {' | '.join(_SHOWN)} | sources |", "|" + " --- |" * (len(_SHOWN) + 3)]
    for key in keys:
        facts = [c.fact(key) for c in all_constants]
        units = dict.fromkeys(f.unit for f in facts if f is not None and f.unit)
        sources = dict.fromkeys(f.source for f in facts if f is not None)
        cells = [f"{_value(f.value)} {f.confidence}" if f is not None else "" for f in facts]
        rows.append(f"| `{key}` | {'; '.join(units)} | {' | '.join(cells)} | {'; '.join(sources)} |")
    return "\n".join(rows) + "\n"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}:&nbsp;{v}" for k, v in value.items())
    if isinstance(value, tuple):
        return " ".join(str(v) for v in value)
    return str(value)


if __name__ == "__main__":
    print(constants_table(), end="")
