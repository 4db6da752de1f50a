"""The 64-byte kernel descriptor (``<kernel>.kd``).

Field layout: LLVM's AMDHSAKernelDescriptor.h and the AMDGPU backend's user
guide, section "Kernel Descriptor". Register granules come from the
architecture table.
"""

import struct
from typing import NamedTuple

from isaprof import arch as tables
from isaprof.errors import BadInput

SIZE = 64

#: kernel_code_properties bit -> (name, SGPRs), in the order in which the SGPRs are laid out
USER_SGPR_ORDER: tuple[tuple[int, str, int], ...] = (
    (0, "private_segment_buffer", 4),
    (1, "dispatch_ptr", 2),
    (2, "queue_ptr", 2),
    (3, "kernarg_segment_ptr", 2),
    (4, "dispatch_id", 2),
    (5, "flat_scratch_init", 2),
    (6, "private_segment_size", 1),
)


class UserSgpr(NamedTuple):
    """A group of user SGPRs: ``s[index]`` to ``s[index + count - 1]`` at wave start."""

    name: str
    index: int  # type: ignore[assignment]  # not the method of tuples
    count: int  # type: ignore[assignment]


def _bits(word: int, low: int, width: int = 1) -> int:
    return word >> low & ((1 << width) - 1)


class KernelDescriptor(NamedTuple):
    """Parsed descriptor; sizes in bytes. ``arch`` decides how the words are read."""

    arch: str
    group_segment_fixed_size: int  #: static LDS
    private_segment_fixed_size: int  #: scratch per work-item
    kernarg_size: int
    entry_offset: int  #: of the code, from the descriptor's own address
    rsrc1: int
    rsrc2: int
    rsrc3: int
    code_properties: int
    kernarg_preload: int
    address: int = 0  #: virtual address of the descriptor

    @classmethod
    def parse(cls, data: bytes, arch: str, address: int = 0) -> "KernelDescriptor":
        """Parse the 64 bytes; BadInput when ``data`` is shorter."""
        if len(data) < SIZE:
            raise BadInput(f"kernel descriptor is cut: {len(data)} of {SIZE} bytes", kind="truncated")
        lds, private, kernarg, entry = struct.unpack_from("<III4xq", data)
        rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack_from("<IIIHH", data, 44)
        return cls(arch, lds, private, kernarg, entry, rsrc1, rsrc2, rsrc3, properties, preload, address)

    # --- kernel_code_properties -------------------------------------------------------------

    @property
    def wave32(self) -> bool:
        """Bit 10; gfx9 has wave64 only."""
        return bool(_bits(self.code_properties, 10)) and 32 in tables.wave_sizes(self.arch)

    @property
    def wave_size(self) -> int:
        sizes = tables.wave_sizes(self.arch)
        return sizes[0] if len(sizes) == 1 else 32 if self.wave32 else 64

    @property
    def uses_dynamic_stack(self) -> bool:
        return bool(_bits(self.code_properties, 11))

    @property
    def kernarg_preload_length(self) -> int:
        """Dwords of the kernarg segment that arrive in user SGPRs (gfx90a and later CDNA, gfx1250)."""
        n = _bits(self.kernarg_preload, 0, 7)
        return n if n and self._table["kernarg_preload"] else 0  # most ask for none: no table is loaded

    @property
    def kernarg_preload_offset(self) -> int:
        """First preloaded dword of the kernarg segment."""
        return _bits(self.kernarg_preload, 7, 9) if self._table["kernarg_preload"] else 0

    @property
    def user_sgprs(self) -> tuple[UserSgpr, ...]:
        """The enabled user SGPR groups from s0 on; preloaded kernargs come last."""
        out: list[UserSgpr] = []
        index = 0
        for bit, name, count in USER_SGPR_ORDER:
            if _bits(self.code_properties, bit):
                out.append(UserSgpr(name, index, count))
                index += count
        if n := self.kernarg_preload_length:
            out.append(UserSgpr("kernarg_preload", index, n))
        return tuple(out)

    # --- COMPUTE_PGM_RSRC2 ------------------------------------------------------------------

    @property
    def user_sgpr_count(self) -> int:
        """USER_SGPR_COUNT: SGPRs loaded before the system SGPRs (5 bits, 6 on gfx1250)."""
        return _bits(self.rsrc2, 1, self._table["user_sgpr_count_bits"])

    @property
    def workgroup_id_enabled(self) -> tuple[bool, bool, bool]:
        """Which workgroup ids (x, y, z) are delivered."""
        r = self.rsrc2
        return bool(_bits(r, 7)), bool(_bits(r, 8)), bool(_bits(r, 9))

    @property
    def workgroup_info(self) -> bool:
        return bool(_bits(self.rsrc2, 10))

    @property
    def workitem_id_dims(self) -> int:
        """How many work-item id components are delivered: 1 (x), 2 (x, y) or 3."""
        return min(_bits(self.rsrc2, 11, 2), 2) + 1

    @property
    def private_segment_enabled(self) -> bool:
        """ENABLE_PRIVATE_SEGMENT: the wave gets scratch (and, before gfx942/gfx11, its offset SGPR)."""
        return bool(_bits(self.rsrc2, 0))

    @property
    def granulated_lds_size(self) -> int:
        """LDS field of rsrc2; written by the packet processor, 0 in most objects."""
        return _bits(self.rsrc2, 15, 9)

    @property
    def exceptions(self) -> int:
        """Seven exception-enable bits (invalid, denormal, div0, overflow, underflow, inexact, int div0)."""
        return _bits(self.rsrc2, 24, 7)

    @property
    def dynamic_vgpr(self) -> bool:
        """ENABLE_DYNAMIC_VGPR (bit 6 on gfx12; elsewhere that bit is the trap handler's)."""
        return self._table["dynamic_vgpr_bit"] is not None and bool(
            _bits(self.rsrc2, self._table["dynamic_vgpr_bit"])
        )

    # --- COMPUTE_PGM_RSRC1 / RSRC3 ----------------------------------------------------------

    @property
    def vgpr_count(self) -> int:
        """VGPRs granted by the descriptor (with AGPRs where the file is unified)."""
        granule: int = self._table["vgpr_encoding_granule"][self.wave_size]
        return (_bits(self.rsrc1, 0, 6) + 1) * granule

    @property
    def accum_offset(self) -> int | None:
        """First AGPR's place in the unified file (gfx90a and later CDNA), in VGPRs."""
        return (_bits(self.rsrc3, 0, 6) + 1) * 4 if self._table["unified_agpr"] else None

    @property
    def arch_vgpr_count(self) -> int:
        """VGPRs that v0, v1, ... can name."""
        offset = self.accum_offset
        return self.vgpr_count if offset is None else min(offset, self.vgpr_count)

    @property
    def agpr_count(self) -> int:
        """AGPRs (a0, a1, ...); on gfx908 the separate file has as many as there are VGPRs."""
        offset = self.accum_offset
        if offset is not None:
            return max(0, self.vgpr_count - offset)
        return self.vgpr_count if self._table["separate_agpr"] else 0

    @property
    def sgpr_count(self) -> int:
        """SGPRs granted, VCC and the other trailing registers included."""
        fixed: int | None = self._table["sgpr_fixed"]
        return fixed if fixed is not None else (_bits(self.rsrc1, 6, 4) // 2 + 1) * 16

    @property
    def round_mode_32(self) -> int:
        """0 nearest even, 1 +inf, 2 -inf, 3 zero (f32)."""
        return _bits(self.rsrc1, 12, 2)

    @property
    def round_mode_16_64(self) -> int:
        return _bits(self.rsrc1, 14, 2)

    @property
    def denorm_mode_32(self) -> int:
        """0 flush source and destination, 1 flush destination, 2 flush source, 3 keep (f32)."""
        return _bits(self.rsrc1, 16, 2)

    @property
    def denorm_mode_16_64(self) -> int:
        return _bits(self.rsrc1, 18, 2)

    @property
    def float_mode(self) -> int:
        """The MODE register's FP_ROUND and FP_DENORM byte at wave start."""
        return _bits(self.rsrc1, 12, 8)

    @property
    def dx10_clamp(self) -> bool:
        """Clamp turns NaN into 0; always on where the bit was removed (gfx12)."""
        return bool(_bits(self.rsrc1, 21)) if self._table["has_ieee_dx10_bits"] else True

    @property
    def ieee_mode(self) -> bool:
        """IEEE bit of MODE; always off where it was removed (gfx12)."""
        return bool(_bits(self.rsrc1, 23)) if self._table["has_ieee_dx10_bits"] else False

    @property
    def fp16_overflow(self) -> bool:
        return bool(_bits(self.rsrc1, 26))

    @property
    def wgp_mode(self) -> bool:
        """RDNA: the workgroup runs on a WGP (both CUs) rather than on one CU."""
        return bool(_bits(self.rsrc1, 29)) and bool(self._table["has_wgp"])

    @property
    def mem_ordered(self) -> bool:
        return bool(_bits(self.rsrc1, 30)) and bool(self._table["has_wgp"])

    @property
    def forward_progress(self) -> bool:
        return bool(_bits(self.rsrc1, 31)) and bool(self._table["has_wgp"])

    @property
    def tg_split(self) -> bool:
        """gfx90a and later CDNA: waves of a workgroup may go to different CUs (no LDS then)."""
        return bool(_bits(self.rsrc3, 16)) and bool(self._table["unified_agpr"])

    @property
    def inst_pref_size(self) -> int:
        """Instruction prefetch at wave start, in 128-byte lines (gfx11 and later)."""
        width: int = self._table["inst_pref_bits"]
        return _bits(self.rsrc3, 4, width) if width else 0

    @property
    def _table(self) -> tables.ArchTable:
        return tables.family_table(self.arch)
