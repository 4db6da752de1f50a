"""Tiny kernels of our own for the rules."""

from __future__ import annotations

from isaprof.lint import Finding, Report, lint_source

SOURCE = """
	.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
	.amdhsa_code_object_version 5
	.text
	.globl k
	.p2align 8
	.type k,@function
k:
{body}
	s_endpgm
	.size k, .-k
	.section .rodata,"a"
	.p2align 6
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr {vgprs}
		.amdhsa_next_free_sgpr {sgprs}
		{extra}
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {kernarg}
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: {wave}
    .sgpr_count: 32
    .vgpr_count: 64
    .max_flat_workgroup_size: 256
    .args:
{args}
...
	.end_amdgpu_metadata
"""
ARG = "      - {{.offset: {offset}, .size: {size}, .value_kind: {kind}}}"
CDNA = ("gfx90a", "gfx942", "gfx950")


def source(
    body: str,
    arch: str = "gfx942",
    *,
    vgprs: int = 128,
    sgprs: int = 48,
    accum: int | None = None,
    lds: int = 1024,
    wave: int | None = None,
    args: tuple[tuple[int, int, str], ...] = ((0, 8, "global_buffer"),),
) -> str:
    """Source of one kernel ``k``; the body begins on line 9."""
    extra = [f".amdhsa_group_segment_fixed_size {lds}"]
    if arch in CDNA:
        extra.append(f".amdhsa_accum_offset {accum or vgprs}")
    rdna = not arch.startswith("gfx9")
    lanes = wave or (32 if rdna else 64)
    mattr = ""
    if rdna and arch != "gfx1250":
        extra.append(f".amdhsa_wavefront_size32 {int(lanes == 32)}")
    if rdna and lanes == 64:
        mattr = "; isaprof.mattr: -wavefrontsize32,+wavefrontsize64\n"
    return mattr + SOURCE.format(
        arch=arch,
        body=body.strip("\n"),
        vgprs=vgprs,
        sgprs=sgprs,
        extra="\n\t\t".join(extra),
        lds=lds,
        wave=lanes,
        kernarg=max(o + s for o, s, _ in args) if args else 8,
        args="\n".join(ARG.format(offset=o, size=s, kind=k) for o, s, k in args),
    )


def lint(body: str, arch: str = "gfx942", **more: object) -> Report:
    return lint_source(source(body, arch, **more))  # type: ignore[arg-type]


def of_rule(report: Report, rule: str) -> list[Finding]:
    return [f for f in report.findings if f.rule == rule]


def only(body: str, rule: str, arch: str = "gfx942", **more: object) -> Finding:
    """The single finding of ``rule``; an assertion error where there is none, or more."""
    report = lint(body, arch, **more)
    found = of_rule(report, rule)
    assert len(found) == 1, [(f.rule, f.text, f.message) for f in report.findings]
    return found[0]


def clean(body: str, rule: str, arch: str = "gfx942", **more: object) -> bool:
    report = lint(body, arch, **more)
    found = of_rule(report, rule)
    assert not found, [(f.text, f.message) for f in found]
    return True


def variants(producer: str, consumer: str, fillers: list[list[str]]) -> str:
    """Producer, filler and consumer for each filler, far enough apart to be independent."""
    apart = ["s_nop 15", "s_nop 15"]
    lines = [line for filler in fillers for line in (producer, *filler, consumer, *apart)]
    return "\n".join(f"\t{line}" for line in lines)
