"""Matrix instructions."""


def is_matrix(base: str) -> bool:
    return base.startswith(("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"))


def lower_matrix(ins, ctx):
    from isaprof.sim.lower.context import Unimplemented

    raise Unimplemented("x")
