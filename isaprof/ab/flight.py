"""Results that a kernel uses while they may be in flight, on the paths that its waves took.

The simulator completes every load at once, so outputs do not show a wait that
is missing: a kernel without one looks right, and fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isaprof.analysis.replay import Replay

if TYPE_CHECKING:
    from isaprof.capture.model import Capture

#: waves whose path is followed, evenly over the traced ones
FOLLOWED = 8

#: (text of the user, text of the operation) -> sentence
Uses = Mapping[tuple[str, str], str]


def uses_in_flight(capture: Capture) -> Uses:
    """Uses by the traced waves of a capture, by the rules of the wait counters."""
    from isaprof.attribution.records import read_records
    from isaprof.attribution.static import static_code

    code = static_code(capture)
    records = read_records(capture)
    replay = Replay(code.instructions, code.table.get("counter_max", {}), cache_in_order=True)
    found: dict[tuple[str, str], str] = {}
    n = len(records.waves)
    for w in sorted({i * n // FOLLOWED for i in range(FOLLOWED)} if n else ()):
        path = records.line[int(records.first[w]) : int(records.last[w])].tolist()
        for (user, op), sentence in replay.hazards(path).items():
            found.setdefault((code.instructions[user].text, code.instructions[op].text), sentence)
    return found


def new_uses(a: Uses, b: Uses) -> tuple[str, ...]:
    """Sentences of what only ``b`` does; the same two instructions are told by their texts."""
    return tuple(sentence for pair, sentence in b.items() if pair not in a)
