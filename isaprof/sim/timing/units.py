"""The memory units of a CU or WGP and instruction fetch: when an access is done, when a unit takes more."""

from __future__ import annotations

from isaprof.sim.timing.calibration import Constants
from isaprof.sim.timing.dispatch import Resources
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
    port's cycles. Data may need the port for longer than the banks (constant
    ``lds_return_cycles``). A unit that holds ``lds_held`` accesses takes up the
    next when the oldest has returned (``taken``); the wave issues meanwhile.
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
        self.held: int = k.get("lds_held", 0)
        self.returns = [[0] * self.held, [0] * self.held]
        self.taken = 0  #: when the last access was taken up

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
        port = lds_port_cycles(k, store, width)
        start = max(now, self.banks_free[b])
        done = start + max(1, round(conflicts * cycles / sharers))
        self.banks_free[b] = done
        # an access leaves the queue when its passes are done, not when the first is made
        self.starts[h][self.count[h] % self.depth] = done
        self.next_issue[h] = now + self.spacing
        self.port_free[h] = max(done, max(start, self.port_free[h]) + port)
        arrival = int(self.port_free[h] - port + latency)
        self.taken = now
        if self.held:
            oldest = self.count[h] % self.held
            self.taken = max(now, self.returns[h][oldest])
            self.returns[h][oldest] = arrival
        self.count[h] += 1
        return arrival


def lds_port_cycles(k: Constants, store: bool, width: int) -> int:
    """Cycles an access of ``width`` bytes a lane keeps its port."""
    own = k.get("lds_return_cycles") if not store else None
    cycles: dict[int, int] = own or k["lds_write_cycles" if store else "lds_read_cycles"]
    return max(1, round(by_width(cycles, width) / int(k.get("lds_port_share", 1))))


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
        self.next_issue = [0] * cus
        self.spacing: int = k.get("vmem_spacing", 1)
        self.per_line: int = k.get("vmem_extra_line", 1)
        self.piece: int = k.get("vmem_bytes_per_cycle", 0)
        self.line_bytes: int = k["l1_line_bytes"]
        self.store_lane: int = k.get("vmem_uncoalesced_store", 0)
        self.acknowledge: int = k["endpgm_after_store"] - k["endpgm_idle"]
        self.return_lines: int = k.get("vmem_return_lines", 0)
        self.path = [ReturnPath(memory.l1_latency) for _ in range(cus)]

    def free(self, simd: int) -> int:
        """Cycle from which the request queue takes another instruction."""
        c = self.cu[simd]
        return max(self.next_issue[c], self.starts[c][self.count[c] % self.depth])

    def issue(self, simd: int, line: int, event: int, now: int) -> int:
        """Accept an instruction at ``now``; the cycle its data is there, or the store acknowledged."""
        lines, paths, k = self.lines, self.paths, self.k
        c = self.cu[simd]
        start = max(now, self.busy_until[c])
        touched = paths.cache_lines[event] if event >= 0 else ()
        lanes = paths.lanes[event] if event >= 0 else 0
        width = cycles = max(self.spacing, by_width(k["vmem_load_cycles"], lines.bytes[line]))
        if lines.store[line] and self.store_lane and len(touched) * 2 > lanes > 1:
            cycles = max(cycles, lanes * self.store_lane)
        else:
            n = len(touched)
            if self.piece:  # a row that begins inside a line is a piece more, and a lane at most one
                moved = lanes * lines.bytes[line]
                pieces = -(-moved // self.piece) + n - -(-moved // self.line_bytes)
                cycles = max(cycles, min(pieces, max(n, lanes)))
            cycles = max(cycles, 1 + (n - 1) * self.per_line)
        self.busy_until[c] = start + cycles
        self.next_issue[c] = now + lines.apart[line]
        self.starts[c][self.count[c] % self.depth] = start
        self.count[c] += 1
        if event < 0:  # no lane is active: nothing is requested
            return start + cycles
        if paths.atomic[event]:
            done = self.memory.atomic(start, touched, lanes * int(k["atomic_lane_cycles"]))
            return done if lines.load[line] else max(done, start + self.acknowledge)
        if paths.store[event]:
            return self.memory.store(start + cycles - self.spacing, touched) + self.acknowledge
        ready = self.memory.load(start, c, touched)
        if not self.return_lines:
            return ready
        return self.path[c].through(ready, 16 * max(width, -(-len(touched) // self.return_lines)))


class ReturnPath:
    """The path from a cache to the registers.

    Loads that are ready together come back in order of their issue, one behind
    the other. One that is ready long (``near``, the latency of the cache)
    before those that the path is busy with has come back before them.
    """

    def __init__(self, near: int) -> None:
        self.near = near
        self.since = 0  #: since when there was no pause
        self.until = 0  #: sixteenths of a cycle

    def through(self, ready: int, sixteenths: int) -> int:
        """When a load that the cache has at ``ready`` and that keeps the path so long begins to arrive."""
        if ready < self.since - self.near:
            return ready
        if ready * 16 > self.until + self.near * 16:
            self.since = ready
        start = max(ready * 16, self.until)
        self.until = start + sixteenths
        return start + 15 >> 4


class ScalarUnit:
    """Scalar memory; its cache gives ``scalar_return_bytes`` a cycle (where that is known)."""

    def __init__(self, k: Constants, lines: Lines, paths: PathLists, memory: Memory) -> None:
        self.lines, self.paths, self.memory = lines, paths, memory
        self.bytes: int = k.get("scalar_return_bytes", 0)
        self.path = ReturnPath(memory.scalar_latency)

    def issue(self, line: int, event: int, now: int) -> int:
        """Accept a scalar memory instruction; the cycle its data is there."""
        if event < 0 or self.paths.store[event]:
            done = now + self.memory.scalar_latency
        else:
            done = self.memory.scalar_load(now, self.paths.lowest[event], self.paths.bytes[event])
        return self.path.through(done, 16 * self.lines.bytes[line] // self.bytes) if self.bytes else done


class Fetch:
    """Instruction fetch by blocks: first touch is a miss, then the block is in the cache.

    Before the first wave of a cold start issues, its first block and the code
    named by the kernel descriptor's prefetch size are fetched; waves that come
    meanwhile wait for the same fetch. Waves that wait for a block get it one
    after the other (``icache_wave_cycles``): the SIMDs share the fetch. What the
    cache keeps of a block is therefore when the next wave can have it. A wave
    that enters a block has the next ones fetched (``icache_blocks_ahead``).
    """

    def __init__(self, k: Constants, entry: int, end: int, *, resources: Resources) -> None:
        warm, prefetch = resources.warm, resources.inst_prefetch_bytes
        size: int = k["icache_fetch_bytes"]
        self.start_warm: int = k["wave_start_warm"]
        self.start_cold: int = self.start_warm if warm else k["wave_start_cold"]
        if not warm and "code_fetch_ns" in k:  # the part that does not follow the clock
            usual = k.cycles_from_ns("code_fetch_ns")
            self.start_cold += k.cycles_from_ns("code_fetch_ns", resources.clock_mhz) - usual
            self.start_cold = max(self.start_warm, self.start_cold)
        self.sequential: int = k.get("icache_sequential_miss", k["icache_miss_cold"])
        self.branch: int = k.get("icache_branch_miss", k["icache_miss_cold"])
        self.ahead: int = k["icache_blocks_ahead"]
        self.grain: int = k["time_grain"]
        self.cache = Cache(max(1, k["icache_bytes"] // size))
        self.warm = warm
        first = entry // size
        self.prefetched = range(first, max(entry, min(end, entry + (prefetch or 0)) - 1) // size + 1)
        self.last = (end - 1) // size
        self.ready: int | None = None
        self.wave_cycles: float = k.get("icache_wave_cycles", 0)
        self.waiting = 0  #: waves that waited for the first block

    def first(self, begin: int) -> int:
        """The first wave begins: when the first block is there."""
        if self.ready is None:
            self.ready = begin + self.start_cold
            for block in self.prefetched:
                self.cache.fill(block, self.ready)
        return self.ready

    def begin(self, begin: int) -> int:
        """When a wave that begins at ``begin`` can issue its first instruction."""
        ready, start = self.first(begin), begin + self.start_warm
        if start >= ready:
            return start
        self.waiting += 1
        return ready + round((self.waiting - 1) * self.wave_cycles)

    def block(self, t: int, block: int, *, branch: bool) -> int:
        """When a wave that enters ``block`` at ``t`` has its instructions."""
        ready = self.cache.touch(block)
        if ready is None:
            ready = t if self.warm else t + (self.branch if branch else self.sequential)
            self.cache.fill(block, ready)
        if t < ready:
            t = ready + -ready % self.grain
            self.cache.lines[block] = ready + round(self.wave_cycles)
        for more in range(block + 1, min(block + self.ahead, self.last) + 1):
            if self.cache.touch(more) is None:
                self.cache.fill(more, t if self.warm else t + self.sequential)
        return t
