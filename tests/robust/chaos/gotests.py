"""Go tests that have to fail with a planted bug, and to pass without one.

``python -m chaos.gotests PACKAGE TEST…`` in ``tests/robust`` runs tests of ``core/internal/PACKAGE``. The build can
have bugs: first it has none, then the one that ``EAGLERAY_PLANT`` names. ``make`` sets what Go needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIMIT_S = 110


def go(package: str, tests: list[str], plant: str) -> tuple[bool, str]:
    """Runs tests with a planted bug. Returns whether they passed, and what was written."""
    line = ["go", "test", "-count=1", f"-timeout={LIMIT_S}s", "-tags=cuda,planted", f"-run=^({'|'.join(tests)})$", "-v"]
    environ = {**os.environ, "EAGLERAY_PLANT": plant, "EAGLERAY_PYTHON": sys.executable}
    done = subprocess.run(
        [*line, f"./core/internal/{package}/"], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    return done.returncode == 0, done.stdout + done.stderr


def main(words: list[str]) -> int:
    """Runs the tests; 1 when the bug makes them fail, 2 when they cannot show that."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--seed", type=int, help="has no effect")
    given = parser.parse_args(words)
    start = time.monotonic()
    passed, said = go(given.package, given.tests, "none")
    missing = [name for name in given.tests if f"--- PASS: {name} " not in said]
    if not passed or missing:
        print(f"gotests: without a bug {', '.join(missing) or given.package} did not pass: {said[-2000:]}")
        return 2
    passed, said = go(given.package, given.tests, os.environ.get("EAGLERAY_PLANT", "none"))
    failed = [line.split()[2] for line in said.splitlines() if line.startswith("--- FAIL: ")]
    if not passed and not failed:
        print(f"gotests: with the bug {given.package} was not tested: {said[-2000:]}")
        return 2
    print(*(f"  WRONG: {name} of {given.package} fails" for name in failed), sep="\n", end="\n" if failed else "")
    verdict = f"{len(failed)} of {len(given.tests)} fail" if failed else "all pass"
    print(f"gotests: {given.package}, {time.monotonic() - start:.0f} s: {verdict}")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
