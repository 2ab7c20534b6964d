"""What an import costs over a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
import time

from book import Bench, figure


def wall_ms(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


def over_python(module: str) -> float:
    """Milliseconds that importing a module takes beyond an interpreter that does nothing."""
    load = f"import {module}"
    wall_ms(load)  # writes the .pyc files
    pairs = [(wall_ms(load), wall_ms("pass")) for _ in range(7)]
    return min(pair[0] for pair in pairs) - min(pair[1] for pair in pairs)


@figure("import over bare Python", "ms", limit=50)
def import_over_python(bench: Bench) -> float:
    return over_python(bench.module)
