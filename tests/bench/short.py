"""The benchmark's short form for CI: what the runtime costs in CPU, as a ratio to loops that are measured beside it.

    short.py             exits with 1 when a line is 15 % worse than its stored ratio
    short.py --store     measures several times and stores the ratios of this machine in results/short.json

Wall time says little on a machine that others use too. So all runs on one CPU, what counts is the CPU time of the
session's processes, samples of a figure and of its loop take turns, and the second best of each is taken. A line that
falls below is sampled again, five times at most: neighbours make samples worse, and a slower program stays slower.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from calibrate import Loops
from short_figures import Figure, Session, quiet

RESULTS = Path(__file__).parent / "results" / "short.json"
ALLOWED = 0.15
#: On a machine without stored ratios: those of others, with a margin for what processors do differently.
ELSEWHERE = 0.5
ROUNDS, ATTEMPTS = 12, 6
#: Between attempts, so that what disturbed one has a chance to be over at the next.
PAUSE = 0.5
#: On a machine that is not overloaded a run takes 10 s. After this many no more rounds begin.
SECONDS = 75.0
STORE_RUNS = 9

Ratios = dict[str, float]


class Samples:
    """What was measured: for each line its CPU seconds, and those of its loop beside it."""

    def __init__(self, figures: list[Figure]) -> None:
        self.taken: dict[str, tuple[list[float], list[float]]] = {figure.name: ([], []) for figure in figures}

    def ratios(self) -> Ratios:
        """How much work a line does for the CPU time of one turn of its loop: more is better."""
        return {name: _low(loop) / _low(own) for name, (own, loop) in self.taken.items()}


def _low(values: list[float]) -> float:
    """The second best of a dozen, the third best of two: no single lucky one."""
    return sorted(values)[min(len(values) - 1, len(values) // 10)]


def take(session: Session, loops: Loops, samples: Samples, figures: list[Figure], end: float) -> None:
    """Rounds over the lines; fewer when time is short."""
    for _ in range(ROUNDS):
        for figure in figures:
            own, loop = samples.taken[figure.name]
            loop.append(getattr(loops, figure.loop)(figure.loops))
            own.append(session.sample(figure))
        if time.monotonic() > end:
            return


def measure(stored: Ratios, allowed: float) -> tuple[Ratios, list[str]]:
    """The ratios, and the lines that are worse than stored however often they are measured."""
    quiet()
    end = time.monotonic() + SECONDS
    loops, session = Loops(), Session()
    try:
        figures = session.figures()
        for figure in figures:  # not counted: everything is loaded and warm then
            getattr(loops, figure.loop)(figure.loops)
            session.sample(figure)
        samples = Samples(figures)
        worse = figures
        for attempt in range(ATTEMPTS):
            time.sleep(PAUSE * attempt)
            take(session, loops, samples, worse, end)
            ratios = samples.ratios()
            worse = [one for one in figures if ratios[one.name] < stored.get(one.name, 0.0) * (1 - allowed)]
            if not worse or time.monotonic() > end:
                break
        return ratios, [one.name for one in worse]
    finally:
        loops.close()
        session.ray.shutdown()


def machine() -> str:
    """What a ratio depends on: the processor and the interpreter."""
    facts: dict[str, str] = {}
    for text in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
        name, _, value = text.partition(":")
        facts[name.strip()] = value.strip()
    numbers = " ".join(facts.get(name, "") for name in ("cpu family", "model", "stepping"))
    version = ".".join(platform.python_version_tuple()[:2])
    return f"{facts.get('model name', platform.machine())} ({numbers}), Python {version}"


def stored_for(name: str) -> tuple[Ratios, float]:
    """The ratios to compare with, and by how much a line may be below."""
    machines: dict[str, Ratios] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if name in machines:
        return machines[name], ALLOWED
    lines = {line for ratios in machines.values() for line in ratios}
    return {line: median(r[line] for r in machines.values() if line in r) for line in lines}, ELSEWHERE


def check() -> int:
    name = machine()
    stored, allowed = stored_for(name)
    began = time.monotonic()
    ratios, worse = measure(stored, allowed)
    print(f"{'line':36}{'ratio':>10}{'stored':>10}{'':>8}")
    for line, ratio in ratios.items():
        before = stored.get(line)
        if before is None:
            print(f"{line:36}{ratio:>10.4g}{'none':>10}")
            continue
        verdict = "  WORSE" if line in worse else ""
        print(f"{line:36}{ratio:>10.4g}{before:>10.4g}{100 * (ratio / before - 1):>+7.0f}%{verdict}")
    if allowed == ELSEWHERE:
        print(
            f"No ratios are stored for {name}: lines may be {allowed:.0%} below other machines'. `--store` adds them."
        )
    print(f"{time.monotonic() - began:.0f} s; {len(worse)} of {len(ratios)} lines are more than {allowed:.0%} worse")
    return 1 if worse else 0


def store(runs: int) -> int:
    found: list[Ratios] = []
    for _ in range(runs):
        done = subprocess.run([sys.executable, __file__, "--once"], stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"run {len(found)} of {runs}", file=sys.stderr)
    machines: dict[str, Ratios] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    machines[machine()] = {line: round(median(ratios[line] for ratios in found), 5) for line in found[0]}
    RESULTS.write_text(json.dumps(dict(sorted(machines.items())), indent=1) + "\n")
    print(f"written to tests/bench/results/{RESULTS.name}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--store", nargs="?", type=int, const=STORE_RUNS, metavar="RUNS")
    what.add_argument("--once", action="store_true", help="print the ratios of one run as JSON")
    options = parser.parse_args()
    if options.store:
        return store(options.store)
    if options.once:
        print(json.dumps(measure({}, ALLOWED)[0]))
        return 0
    return check()


if __name__ == "__main__":
    sys.exit(main())
