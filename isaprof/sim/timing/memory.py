"""Memory hierarchy of one CU or WGP: when the data of an access is there.

Caches are looked up by real line addresses with least-recently-used
replacement; a line on its way is merged with. The latency of caches up to L2
is in cycles, MALL and DRAM are constant in nanoseconds. The first touch of a
page pays a TLB walk, unless the model starts warm. Other CUs are not
simulated: they neither fill the shared caches nor take their bandwidth.
"""

from __future__ import annotations

from isaprof.sim.timing.calibration import Constants


class Cache:
    """Fully associative LRU set of lines, each with the time its data is there."""

    __slots__ = ("capacity", "lines")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.lines: dict[int, int] = {}

    def touch(self, line: int) -> int | None:
        """Arrival time of ``line`` when it is present (or coming), which makes it the youngest."""
        ready = self.lines.pop(line, None)
        if ready is not None:
            self.lines[line] = ready
        return ready

    def fill(self, line: int, ready: int) -> None:
        lines = self.lines
        if len(lines) >= self.capacity:
            del lines[next(iter(lines))]
        lines[line] = ready


class Memory:
    """``full``: the dispatch starts on the whole GPU at once, which makes first touches slower.

    ``apart`` (0..1): share of the unit's first touches that no other unit makes
    too. A line that all units want comes from DRAM once, so that the unit pays
    for a part of it only; which unit is the first to ask is not known.

    ``clock_mhz``: shader clock of the run. Constants that count cold accesses
    in cycles do so at the device's clock; what of them is DRAM keeps its
    nanoseconds, the page walk in front of it its cycles (gfx1100 at 1.23, 2.97
    and 3.17 GHz: kernel arguments after 891, 1273-1322 and 1404 cycles, which
    is 585 cycles and 250 ns).
    """

    def __init__(
        self, k: Constants, *, warm: bool, full: bool, apart: float = 1.0, clock_mhz: float | None = None
    ) -> None:
        line = k["l1_line_bytes"]
        self.line_shift = line.bit_length() - 1
        self.scalar_shift = k["scalar_line_bytes"].bit_length() - 1
        self.page_shift = k["page_bytes"].bit_length() - 1
        self.warm = warm
        self.dram = k.cycles_from_ns("dram_latency_ns", clock_mhz)
        self.mall_latency = k.cycles_from_ns("mall_latency_ns", clock_mhz)
        self.l1_latency: int = k["l1_latency"]
        self.l2_latency: int = k["l2_latency"]
        self.scalar_latency: int = k["smem_hit"]
        self.mid_latency: int = k.get("mid_l1_latency", self.l2_latency)
        self.l1 = [Cache(k["l1_bytes"] // line) for _ in range(k["cus_per_unit"])]
        self.mid = Cache(k["mid_l1_bytes"] // line) if k.get("mid_l1_bytes", 0) else None
        self.l2 = Cache(k["l2_bytes"] // line)
        self.mall = Cache(k["mall_bytes"] // line)
        self.scalar = Cache(k["scalar_cache_bytes"] // k["scalar_line_bytes"])
        # scalar and vector memory translate in buffers of their own, and kernel arguments lie apart
        self.scalar_pages: dict[int, int] = {}
        self.vector_pages: dict[int, int] = {}
        self.line_cycles = max(1, line // k["l2_bytes_per_cycle"])
        # a CU's share of the memory bandwidth when the whole GPU runs
        each = k["memory_bandwidth_gb_s"] * 1000 / (clock_mhz or k["clock_mhz"]) / k["cu_count"]
        share = each * k["cus_per_unit"]
        alone = max(1, round(line / share * apart))
        self.dram_cycles = max(alone, self.line_cycles) if full else self.line_cycles
        self.l2_free = self.dram_free = self.fill_free = 0
        usual = k.cycles_from_ns("dram_latency_ns")
        self.scalar_walk = max(0, k["smem_cold"] - usual)
        cold = k.get("global_cold" if full else "global_cold_few_lanes")
        self.vector_walk: int = k["tlb_walk"] if cold is None else max(0, cold - usual)

    def _below(self, line: int, t: int, walk: int, pages: dict[int, int]) -> int:
        """Arrival of a line that is requested from L2 at ``t``."""
        start = max(t, self.l2_free)
        self.l2_free = start + self.line_cycles
        present = self.l2.touch(line)
        if present is not None:
            return max(start + self.l2_latency, present)
        if self.warm:
            ready = start + self.l2_latency
        else:
            page = line << self.line_shift >> self.page_shift
            translated = pages.get(page)
            if translated is None:
                translated = pages[page] = start + walk
            start = max(start, self.dram_free)
            self.dram_free = start + self.dram_cycles
            known = self.mall.touch(line) is not None
            latency = self.mall_latency if known else self.dram
            # lines that a walk held back come out of it one behind the other
            ready = max(max(start, translated) + latency, self.fill_free)
            self.fill_free = ready + self.line_cycles
            if not known:
                self.mall.fill(line, ready)
        self.l2.fill(line, ready)
        return ready

    def scalar_load(self, t: int, address: int, size: int) -> int:
        """Arrival of a scalar load of ``size`` bytes."""
        done = t + self.scalar_latency
        for line in range(
            address >> self.scalar_shift, (address + max(size, 1) - 1 >> self.scalar_shift) + 1
        ):
            ready = self.scalar.touch(line)
            if ready is None:
                vector_line = line << self.scalar_shift >> self.line_shift
                ready = self._below(vector_line, t, self.scalar_walk, self.scalar_pages)
                self.scalar.fill(line, ready)
            done = max(done, ready)
        return done

    def load(self, t: int, cu: int, lines: tuple[int, ...]) -> int:
        """Arrival of a vector load that touches ``lines``; one more cycle for each line but the first."""
        cache = self.l1[cu]
        done = t + self.l1_latency
        for n, line in enumerate(lines):
            ready = cache.touch(line)
            if ready is None:
                ready = self._mid(line, t + n)
                cache.fill(line, ready)
            done = max(done, ready, t + n + self.l1_latency)
        return done

    def _mid(self, line: int, t: int) -> int:
        if self.mid is None:
            return self._below(line, t, self.vector_walk, self.vector_pages)
        ready = self.mid.touch(line)
        if ready is None:
            ready = self._below(line, t, self.vector_walk, self.vector_pages)
            self.mid.fill(line, ready)
        return max(ready, t + self.mid_latency)

    def atomic(self, t: int, lines: tuple[int, ...], lane_cycles: int) -> int:
        """Arrival of the value an atomic returns: it is done in L2."""
        done = t
        for line in lines:
            done = max(done, self._below(line, t, self.vector_walk, self.vector_pages))
        return done + lane_cycles

    def store(self, t: int, lines: tuple[int, ...]) -> int:
        """When the store has left for L2 (write-through); its lines are in L2 from then on."""
        start = t
        for line in lines:
            start = max(start, self.l2_free)
            self.l2_free = start + self.line_cycles
            if self.l2.touch(line) is None:
                self.l2.fill(line, start)
        return start
