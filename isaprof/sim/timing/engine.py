"""The issue loop: replays wave paths through the issue ports and pipes of one unit.

Event-driven: the heap holds, for each runnable wave, the earliest cycle at
which its next instruction could issue; equal cycles go by priority
(``s_setprio``), then age. A wave that finds a port or pipe taken comes back at
the cycle it is free. Events are processed in order of time, so that shared
resources (LDS, caches, queues) see their requests in order.

Records mean what those of a hardware trace mean: ``time`` is when the wave was
first ready to issue (dependency delays before it are idle time), ``stall``
counts from there to the issue, and an immediate starts where the record before
it ended.

All state of waves and SIMDs is in flat lists of integers.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from heapq import heappop, heappush

from isaprof.errors import KernelFault
from isaprof.isa.model import Category
from isaprof.sim.timing.accesses import LOCAL
from isaprof.sim.timing.lines import CODE, PORT_NONE, PORT_VALU, PORTS, REGISTERS, SIDE_FIRST, SIDE_SECOND
from isaprof.sim.timing.residency import WAVE_BITS, Residency
from isaprof.sim.timing.scoreboard import SLOTS, Kind, Slot
from isaprof.sim.timing.state import NEVER, counter_free, producer
from isaprof.sim.timing.units import Turns

_WAVE_MASK = (1 << WAVE_BITS) - 1
_JUMP, _NEXT = CODE[Category.JUMP], CODE[Category.NEXT]
_IMMED = CODE[Category.IMMED]


class Engine(Residency):
    """One CU (CDNA) or WGP (RDNA) and the waves it is given."""

    def run(self, progress: Callable[[int], None] | None = None) -> None:
        """Play all workgroups. KernelFault when waves wait at a barrier that never completes."""
        if self.dispatcher.places is not None:
            begins = [p.begin for places in self.dispatcher.places for p in places]
            self.fetch.first(min(begins, default=0))
        self.launch(0)
        self._loop(progress)
        stuck = [w for w, end in enumerate(self.end) if end == NEVER]
        if stuck:
            line = self.paths.line[self.step[stuck[0]]]
            raise KernelFault(
                f"{len(stuck)} waves wait at a barrier that never completes (wave {stuck[0]}, line {line})",
                kind="barrier_deadlock",
            )

    # -- the loop -----------------------------------------------------------------------

    def _loop(self, progress: Callable[[int], None] | None) -> None:
        k, L, P = self.k, self.lines, self.paths
        heap, fresh = self.heap, self.fresh
        kinds, port_of, busy, extra, block = L.kind, L.port, L.busy, L.extra, L.block
        pipe, latency, release, alone, hold, scale = L.exec, L.latency, L.release, L.alone, L.hold, L.scale
        side = L.side
        rule_ptr, rule_slot, rule_add = L.rule_ptr, L.rule_slot, L.rule_add
        sets_ptr, sets_slot, sets_add = L.sets_ptr, L.sets_slot, L.sets_add
        read_ptr, read, write_ptr, write = L.read_ptr, L.read, L.write_ptr, L.write
        counters_of, categories, fetch_of = L.counters, L.category, L.fetch
        path_line, path_event, path_taken, path_start = P.line, P.event, P.taken, P.start
        step_of, ready_of, last_end, board = self.step, self.ready, self.last_end, self.board
        outstanding, counter_max = self.outstanding, self.counter_max
        n_counters, n_waves = len(counter_max), len(step_of)
        place, fetch = self.place, self.fetch
        out = self.records
        r_wave, r_step, r_time = out.wave, out.step, out.time
        r_stall, r_duration, r_category = out.stall, out.duration, out.category

        queued = k["valu_queue"] > 1
        depth = k["valu_queue"]
        exec_start, untraced_slot, slack = k["exec_start"], k["untraced_slot"], k["salu_slack"]
        retire_slack = k["retire_slack"]
        grain, whole = k["time_grain"], k["immediate_record"] == "whole"
        one_port = k["valu_per_turn"] == 1
        simds = self.dispatcher.simds

        ports = [0] * (simds * PORTS)
        owner = [-1] * (simds * PORTS)  # wave whose clause holds the port
        queue, queue_n = [NEVER] * (simds * depth), [0] * simds  # release times of the VALU queue's entries
        valu_free, trans_exec, trans_free = [0] * simds, [0] * simds, [0] * simds
        # VALU ports without a queue; ``held``: until when a matrix instruction keeps the second from others
        port_a, port_b, held = [0] * simds, [0] * simds, [0] * simds
        matrix_free, salu_free = [0] * simds, [0] * simds
        # who was served last by the units that SIMDs share, and who comes back to them when
        turns = Turns(k, simds)

        registers = [NEVER] * (n_waves * REGISTERS)
        recent_valu, recent_trans = [NEVER] * (n_waves * 4), [NEVER] * (n_waves * 4)
        valu_n, trans_n = [0] * n_waves, [0] * n_waves
        fetched, clause = [-1] * n_waves, [0] * n_waves
        delay_id, delay_left = [0] * n_waves, [0] * n_waves
        after_valu, after_wait = [False] * n_waves, [False] * n_waves
        valu_slot = int(Slot.VALU)
        trans_kind = int(Kind.TRANS)
        matrix_kind = int(Kind.MATRIX)
        salu_kind = int(Kind.SALU)
        vmem_kind = int(Kind.VMEM)
        lds_kind = int(Kind.LDS)
        branch_kind = int(Kind.BRANCH)
        message_kind = int(Kind.MESSAGE)
        wait_kind = int(Kind.WAIT)
        delay_kind = int(Kind.DELAY)
        immed_kind = int(Kind.IMMED)
        barrier_wait_kind = int(Kind.BARRIER_WAIT)
        delay_alu_kind = int(Kind.DELAY_ALU)
        issued = 0

        while True:
            taken = False
            if fresh:
                w, base, taken = fresh.pop()
                step = step_of[w]
            elif heap:
                key = heappop(heap)
                now = key >> (WAVE_BITS + 2)
                w = key & _WAVE_MASK
                step = step_of[w]
                if step == path_start[w + 1]:
                    self.end_wave(w, now)
                    continue
                line = path_line[step]
                kind = kinds[line]
                port = port_of[line]

                # what it needs to issue now: its port, room in the queue, a free pipe
                if port != PORT_NONE:
                    simd = place[w].simd  # type: ignore[union-attr]
                    at = simd * PORTS + port
                    free = ports[at]
                    if free > now and owner[at] == w:
                        free = now
                    if port == PORT_VALU:
                        if queued:
                            t = queue[simd * depth + queue_n[simd] % depth]
                            if t > free:
                                free = t
                            if kind == trans_kind and trans_free[simd] > free:
                                free = trans_free[simd]
                        else:
                            a, b, t = port_a[simd], port_b[simd], held[simd]
                            if kind == matrix_kind:
                                free = max(a, b, matrix_free[simd]) - scale[line]
                            else:
                                if t > b:
                                    b = t
                                if alone[line]:
                                    free = a if a > b else b
                                else:
                                    free = a if side[line] == SIDE_FIRST or b > a else b
                    elif kind == salu_kind:
                        t = salu_free[simd] - slack
                        if t > free:
                            free = t
                        if queued and after_valu[w]:
                            t = queue[simd * depth + queue_n[simd] % depth]
                            if t > free:
                                free = t
                    elif kind in (lds_kind, vmem_kind):
                        t = self.lds.free(simd) if kind == lds_kind else self.vmem.free(simd)
                        if t > free:
                            free = t
                        if turns.fair:
                            free = turns.ask(kind == vmem_kind, simd, now, free)
                    for c in counters_of[line]:
                        pending = outstanding[w * n_counters + c]
                        if len(pending) >= counter_max[c]:
                            free = max(free, counter_free(pending, counter_max[c], now))
                    if free > now:
                        if free % grain:
                            free += grain - free % grain
                        heappush(heap, (free * 4 + 3 - self.priority[w]) << WAVE_BITS | w)
                        continue
                    ports[at] = now + busy[line]
                    if turns.fair and kind in (lds_kind, vmem_kind):
                        turns.serve(kind == vmem_kind, simd, now)

                # issue
                issued += 1
                if progress is not None and not issued & 0x3FFF:
                    progress(issued)
                shifted = now  # where the VALU's result times count from
                ready = ready_of[w]
                base = now + block[line]
                if kind <= matrix_kind:
                    stall = now - ready
                    r_wave.append(w)
                    r_step.append(step)
                    r_time.append(ready)
                    r_stall.append(stall)
                    t = stall + extra[line]
                    r_duration.append(t)
                    r_category.append(categories[line])
                    if ready + t > last_end[w]:
                        last_end[w] = ready + t
                    if queued:
                        start = now + exec_start
                        if valu_free[simd] > start:
                            start = valu_free[simd]
                        o = w * REGISTERS
                        for r in read[read_ptr[line] : read_ptr[line + 1]]:
                            t = registers[o + r]
                            if t > start:
                                start = t
                        cycles = pipe[line]
                        if kind == trans_kind:
                            if trans_exec[simd] > start:
                                start = trans_exec[simd]
                            trans_exec[simd] = start + cycles
                            trans_free[simd] = now + cycles
                            valu_free[simd] = start + 1
                            recent_trans[w * 4 + trans_n[w] % 4] = start - exec_start + latency[line]
                            trans_n[w] += 1
                        else:
                            valu_free[simd] = start + cycles
                            recent_valu[w * 4 + valu_n[w] % 4] = start - exec_start + latency[line]
                            valu_n[w] += 1
                        q = simd * depth + queue_n[simd] % depth
                        queue[q] = start + cycles + release[line]
                        queue_n[simd] += 1
                        t = start + latency[line]
                        for r in write[write_ptr[line] : write_ptr[line + 1]]:
                            registers[o + r] = t
                        shifted = start - exec_start
                    else:
                        if kind == matrix_kind:
                            shifted = now + scale[line]
                            matrix_free[simd] = shifted + pipe[line]
                            port_a[simd] = port_b[simd] = shifted + busy[line]
                            held[simd] = shifted + hold[line]
                        elif alone[line]:
                            port_a[simd] = port_b[simd] = now + busy[line]
                        elif port_a[simd] <= now and (
                            side[line] != SIDE_SECOND or max(port_b[simd], held[simd]) > now
                        ):
                            port_a[simd] = now + busy[line]
                        else:
                            port_b[simd] = now + busy[line]
                        if one_port:
                            port_b[simd] = port_a[simd] = max(port_a[simd], port_b[simd])
                    after_valu[w], after_wait[w] = True, False
                elif kind <= message_kind:
                    category = categories[line]
                    if kind == branch_kind:
                        if path_taken[step] or category != _JUMP:
                            taken = True
                            base = now + L.taken[line]
                        else:
                            category = _NEXT
                    stall = now - ready
                    r_wave.append(w)
                    r_step.append(step)
                    r_time.append(ready)
                    r_stall.append(stall)
                    t = stall + extra[line]
                    r_duration.append(t)
                    r_category.append(category)
                    if ready + t > last_end[w]:
                        last_end[w] = ready + t
                    if kind == salu_kind:
                        t = salu_free[simd]
                        salu_free[simd] = (t if t > now else now) + pipe[line]
                    elif kind != branch_kind:
                        self._memory(w, line, kind, simd, path_event[step], now)
                        if clause[w]:
                            clause[w] -= 1
                            owner[at] = w if clause[w] else -1
                            if clause[w]:
                                ports[at] += grain
                    after_valu[w] = after_wait[w] = False
                elif kind <= immed_kind:  # wait, nop, other internal
                    time = last_end[w] if NEVER < last_end[w] < now else now
                    t = now - time + grain
                    r_wave.append(w)
                    r_step.append(step)
                    r_time.append(time)
                    r_stall.append(t if whole else now - time)
                    r_duration.append(t)
                    r_category.append(_IMMED)
                    last_end[w] = time + t
                    if L.clause[line]:
                        clause[w] = L.clause[line]
                    if L.priority[line] >= 0:
                        self.priority[w] = L.priority[line]
                    after_valu[w], after_wait[w] = False, kind == wait_kind
                else:
                    if self.control(w, line, kind, step, now):
                        continue
                    after_valu[w] = after_wait[w] = False
                retires = max(now, shifted - retire_slack)
                for i in range(sets_ptr[line], sets_ptr[line + 1]):
                    slot = sets_slot[i]
                    board[w * SLOTS + slot] = (retires if slot == valu_slot else now) + sets_add[i]
                step += 1
            else:
                return

            # when the wave is first ready for its next instruction; those without a packet pass here
            last = path_start[w + 1]
            parked = False
            while True:
                if step == last:
                    break
                line = path_line[step]
                kind = kinds[line]
                if fetch_of[line] != fetched[w]:
                    fetched[w] = fetch_of[line]
                    base = fetch.block(base, fetched[w], branch=taken)
                taken = False
                if kind >= delay_alu_kind and after_wait[w]:
                    base += untraced_slot
                    after_wait[w] = False
                if kind == delay_alu_kind:
                    first, delay_left[w], delay_id[w] = L.delay[line]
                    if first:
                        t = producer(first, w, recent_valu, valu_n, recent_trans, trans_n, board)
                        if t > base:
                            base = t
                elif delay_id[w]:
                    if delay_left[w]:
                        delay_left[w] -= 1
                    else:
                        t = producer(delay_id[w], w, recent_valu, valu_n, recent_trans, trans_n, board)
                        if t > base:
                            base = t
                        delay_id[w] = 0
                o = w * SLOTS
                for i in range(rule_ptr[line], rule_ptr[line + 1]):
                    t = board[o + rule_slot[i]] + rule_add[i]
                    if t > base:
                        base = t
                if kind >= delay_alu_kind:
                    step += 1
                    continue
                ready_of[w] = base
                if kind == wait_kind:
                    early = grain if whole else 0  # its slot is the one in which the last one arrives
                    for c, n in L.waits[line]:
                        pending = outstanding[w * n_counters + c]
                        if len(pending) > n and pending[-n - 1] - early > base:
                            base = pending[-n - 1] - early
                    if base % grain:
                        base += grain - base % grain
                elif kind == delay_kind:
                    base += L.cycles[line] - grain
                elif kind == barrier_wait_kind:
                    parked = True
                    self.barrier_wait(w, step, base)
                break
            if not parked:
                step_of[w] = step
                heappush(heap, (base * 4 + 3 - self.priority[w]) << WAVE_BITS | w)

    def _memory(self, w: int, line: int, kind: int, simd: int, event: int, now: int) -> None:
        """Hand a memory, export or message instruction to its unit and raise its counters."""
        L = self.lines
        in_order = True
        if kind == Kind.LDS or (kind == Kind.VMEM and event >= 0 and self.paths.space[event] == LOCAL):
            done = self.lds.issue(simd, line, event, now)
            self.board[w * SLOTS + Slot.LDS_TAKEN] = self.lds.taken
        elif kind == Kind.VMEM:
            done = self.vmem.issue(simd, line, event, now)
            if L.store[line]:
                self.stored[w] = max(self.stored[w], done + int(self.k["endpgm_idle"]))
        elif kind == Kind.SMEM:
            done, in_order = self.scalar.issue(line, event, now), False
        elif kind == Kind.EXPORT:
            done = now + int(self.k["export_latency"])
        else:
            done, in_order = now + int(self.k["message_latency"]), False
        done += -done % int(self.k["time_grain"])
        n = len(self.counter_max)
        for c in L.counters[line]:
            if in_order:
                done_here = max(done, self.last_done.get((w, c, kind), NEVER))
                self.last_done[w, c, kind] = done_here
            else:
                done_here = done
            insort(self.outstanding[w * n + c], done_here)
