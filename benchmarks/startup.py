"""Start-up cost of isaprof as a multiple of Python's own.

``python benchmarks/startup.py [RUNS]`` times fresh processes and prints the
best of RUNS (default 15) for each statement: the minimum, because everything
that disturbs a start only ever makes it longer.
"""

from __future__ import annotations

import subprocess
import sys
import time

STATEMENTS = {
    "python -c pass": ["-c", "pass"],
    "import isaprof": ["-c", "import isaprof"],
    "isaprof --help": ["-m", "isaprof", "--help"],
    "isaprof --version": ["-m", "isaprof", "--version"],
}


def seconds(arguments: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main(runs: int) -> None:
    best = dict.fromkeys(STATEMENTS, float("inf"))
    for _ in range(runs):  # interleaved, so that a slow spell of the machine hits all alike
        for name, arguments in STATEMENTS.items():
            best[name] = min(best[name], seconds(arguments))
    base = best["python -c pass"]
    print(f"best of {runs}; {sys.executable}, Python {sys.version.split()[0]}")
    for name, value in best.items():
        print(f"{name:20} {value * 1000:8.1f} ms {value / base:8.2f} x python -c pass")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
