"""The memory units of a CU or WGP and instruction fetch: when an access is done, when a unit takes more."""

from __future__ import annotations

from isaprof.sim.timing.calibration import Constants
from isaprof.sim.timing.lines import Lines
from isaprof.sim.timing.memory import Cache, Memory
from isaprof.sim.timing.paths import PathLists


def by_width(table: dict[int, int], width: int) -> int:
    """Entry of the smallest width (bytes a lane) that covers ``width``."""
    for limit in sorted(table):
        if width <= limit:
            return table[limit]
    return table[max(table)]


def vector_cu(k: Constants) -> tuple[int, ...]:
    """The CU (number within the unit) whose vector memory path each SIMD uses."""
    half: tuple[int, ...] = k["simd_half"]
    return half if k["cus_per_unit"] > 1 else (0,) * int(k["simds_per_cu"])


class LdsUnit:
    """LDS: banks, data ports (one for each half of the unit) and their queues.

    The banks make the passes of an access, in order of issue; its port moves
    its data meanwhile. Each port has banks of its own, or (constant
    ``lds_shared_banks``) all share one array, which then makes as many passes
    as all ports together can move. The result is there after the latency of
    its width, and later by what the passes of bank conflicts take beyond the
    port's cycles.
    """

    def __init__(self, k: Constants, lines: Lines, paths: PathLists) -> None:
        self.k, self.lines, self.paths = k, lines, paths
        self.half: tuple[int, ...] = k["simd_half"]
        self.depth: int = k["lds_queue"]
        self.banks = lds_banks(k)
        self.banks_free = [0, 0]
        self.port_free = [0, 0]
        self.starts = [[0] * self.depth, [0] * self.depth]
        self.count = [0, 0]
        self.spacing: int = k["lds_issue_spacing"]
        self.next_issue = [0, 0]
        self.share: int = k.get("lds_port_share", 1)

    def free(self, simd: int) -> int:
        """Cycle from which the port's queue takes another access."""
        h = self.half[simd]
        return max(self.next_issue[h], self.starts[h][self.count[h] % self.depth])

    def issue(self, simd: int, line: int, event: int, now: int) -> int:
        """Accept an access at ``now``; the cycle its data is there."""
        k, lines, paths = self.k, self.lines, self.paths
        width, store = lines.bytes[line], lines.store[line]
        cycles = by_width(k["lds_write_cycles" if store else "lds_read_cycles"], width) / self.share
        latency = by_width(k["lds_write_latency" if store else "lds_read_latency"], width)
        h = self.half[simd]
        b, sharers = self.banks[h]
        conflicts = 1.0  # times the passes of an access without conflicts
        if lines.permute[line]:
            latency = k["bpermute_latency"]
        elif event >= 0 and paths.least[event]:
            conflicts = paths.passes[event] / paths.least[event]
        port = max(1, round(cycles))
        start = max(now, self.banks_free[b])
        done = start + max(1, round(conflicts * cycles / sharers))
        self.banks_free[b] = done
        # an access leaves the queue when its passes are done, not when the first is made
        self.starts[h][self.count[h] % self.depth] = done
        self.count[h] += 1
        self.next_issue[h] = now + self.spacing
        self.port_free[h] = max(done, max(start, self.port_free[h]) + port)
        return self.port_free[h] - port + latency


def lds_banks(k: Constants) -> tuple[tuple[int, int], tuple[int, int]]:
    """(which banks, number of ports that share them) of each LDS port."""
    return ((0, 2), (0, 2)) if k.get("lds_shared_banks", False) else ((0, 1), (1, 1))


class Turns:
    """Round robin of the SIMDs at the LDS ports and at vector memory, where SIMDs issue in turn.

    Of the waves that come back to a unit in the same cycle, that of the SIMD
    served longest ago goes first; within a SIMD the order is that of the loop.
    Source: rocprofiler-compute's pipeline description (a SIMD each cycle, in turn).
    """

    def __init__(self, k: Constants, simds: int) -> None:
        self.fair: bool = k["issue_model"] == "simd_round_robin"
        self.grain: int = k["time_grain"]
        self.unit: tuple[tuple[int, ...], ...] = (k["simd_half"], vector_cu(k))
        self.back = [[-1] * simds for _ in self.unit]  # by unit kind and SIMD: when a wave asks again
        self.served = [[-1] * simds for _ in self.unit]

    def ask(self, which: int, simd: int, now: int, free: int) -> int:
        """When a wave may have the unit that is ``free`` then: a turn later where another SIMD goes first."""
        back, served, unit = self.back[which], self.served[which], self.unit[which]
        if free > now:
            if not now < back[simd] < free:
                back[simd] = free
            return free
        for other, t in enumerate(back):
            if t == now and served[other] < served[simd] and unit[other] == unit[simd] and other != simd:
                back[simd] = now + self.grain
                return now + self.grain
        return free

    def serve(self, which: int, simd: int, now: int) -> None:
        """A wave of ``simd`` has issued at ``now``."""
        self.served[which][simd] = now


class VectorMemoryUnit:
    """Address units and vector caches: one for each CU of the unit."""

    def __init__(self, k: Constants, lines: Lines, paths: PathLists, memory: Memory) -> None:
        self.k, self.lines, self.paths, self.memory = k, lines, paths, memory
        cus: int = k["cus_per_unit"]
        self.cu = vector_cu(k)
        self.depth: int = k["vmem_queue"]
        self.busy_until = [0] * cus
        self.starts = [[0] * self.depth for _ in range(cus)]
        self.count = [0] * cus
        self.spacing: int = k.get("vmem_spacing", 1)
        self.per_line: int = k.get("vmem_extra_line", 1)
        self.store_lane: int = k.get("vmem_uncoalesced_store", 0)
        self.acknowledge: int = k["endpgm_after_store"] - k["endpgm_idle"]

    def free(self, simd: int) -> int:
        """Cycle from which the request queue takes another instruction."""
        c = self.cu[simd]
        return self.starts[c][self.count[c] % self.depth]

    def issue(self, simd: int, line: int, event: int, now: int) -> int:
        """Accept an instruction at ``now``; the cycle its data is there, or the store acknowledged."""
        lines, paths, k = self.lines, self.paths, self.k
        c = self.cu[simd]
        start = max(now, self.busy_until[c])
        touched = paths.cache_lines[event] if event >= 0 else ()
        lanes = paths.lanes[event] if event >= 0 else 0
        cycles = max(self.spacing, by_width(k["vmem_load_cycles"], lines.bytes[line]))
        if lines.store[line] and self.store_lane and len(touched) * 2 > lanes > 1:
            cycles = max(cycles, lanes * self.store_lane)
        else:
            cycles = max(cycles, 1 + (len(touched) - 1) * self.per_line)
        self.busy_until[c] = start + cycles
        self.starts[c][self.count[c] % self.depth] = start
        self.count[c] += 1
        if event < 0:  # no lane is active: nothing is requested
            return start + cycles
        if paths.atomic[event]:
            done = self.memory.atomic(start, touched, lanes * int(k["atomic_lane_cycles"]))
            return done if lines.load[line] else max(done, start + self.acknowledge)
        if paths.store[event]:
            return self.memory.store(start + cycles - self.spacing, touched) + self.acknowledge
        return self.memory.load(start, c, touched)


class ScalarUnit:
    """Scalar memory."""

    def __init__(self, paths: PathLists, memory: Memory) -> None:
        self.paths, self.memory = paths, memory

    def issue(self, line: int, event: int, now: int) -> int:
        """Accept a scalar memory instruction; the cycle its data is there."""
        if event < 0 or self.paths.store[event]:
            return now + self.memory.scalar_latency
        return self.memory.scalar_load(now, self.paths.lowest[event], self.paths.bytes[event])


class Fetch:
    """Instruction fetch by blocks: first touch is a miss, then the block is in the cache.

    Before the first wave of a cold start issues, its first block and the code
    named by the kernel descriptor's prefetch size are fetched; waves that come
    meanwhile wait for the same fetch. A wave that enters a block has the next
    ones fetched (constant ``icache_blocks_ahead``).
    """

    def __init__(self, k: Constants, entry: int, end: int, *, warm: bool, prefetch: int | None) -> None:
        size: int = k["icache_fetch_bytes"]
        self.start_warm: int = k["wave_start_warm"]
        self.start_cold: int = self.start_warm if warm else k["wave_start_cold"]
        self.sequential: int = k.get("icache_sequential_miss", k["icache_miss_cold"])
        self.branch: int = k.get("icache_branch_miss", k["icache_miss_cold"])
        self.ahead: int = k["icache_blocks_ahead"]
        self.cache = Cache(max(1, k["icache_bytes"] // size))
        self.warm = warm
        first = entry // size
        self.prefetched = range(first, max(entry, min(end, entry + (prefetch or 0)) - 1) // size + 1)
        self.last = (end - 1) // size
        self.ready: int | None = None

    def begin(self, begin: int) -> int:
        """When a wave that begins at ``begin`` can issue its first instruction."""
        if self.ready is None:
            self.ready = begin + self.start_cold
            for block in self.prefetched:
                self.cache.fill(block, self.ready)
        return max(begin + self.start_warm, self.ready)

    def block(self, t: int, block: int, *, branch: bool) -> int:
        """When a wave that enters ``block`` at ``t`` has its instructions."""
        ready = self.cache.touch(block)
        if ready is None:
            ready = t if self.warm else t + (self.branch if branch else self.sequential)
            self.cache.fill(block, ready)
        t = max(t, ready)
        for more in range(block + 1, min(block + self.ahead, self.last) + 1):
            if self.cache.touch(more) is None:
                self.cache.fill(more, t if self.warm else t + self.sequential)
        return t
