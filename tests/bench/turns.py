"""Measures two builds of Eagle Ray in turns on this machine: did a change make a line of the benchmark slower?

    turns.py OLD/.venv/bin/python .venv/bin/python --rounds 5 --name before-after [group ...]

Each group of figures runs in a process of its own, once with each build, another build first in each round. For each
figure it prints both medians, by how much the new one is better (a minus: worse), and how far the rounds of one build
lie apart, which says how much of a difference is chance. The exit status is 1 when a median is worse by more than
--allowed percent and by more than that distance. All samples are written to results/turns-NAME.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import machine
from book import OURS, Figure, groups, load
from lines import number
from rounds import HERE, Sample, end_cleanly, expected, measure

BUILDS = ("old", "new")
Taken = dict[str, dict[str, list[Sample]]]


@dataclass(frozen=True)
class Line:
    """What was found for one figure."""

    figure: Figure
    old: list[float]
    new: list[float]

    @property
    def better(self) -> float:
        """By how many percent the new median is better."""
        gain = self.figure.gain(median(self.new), median(self.old))
        return 100 * (gain - 1)

    @property
    def apart(self) -> float:
        """The middle half of the rounds of the build whose rounds differ more, in percent of its median."""
        return max(_middle_half(self.old), _middle_half(self.new))

    def worse(self, allowed: float) -> bool:
        return -self.better > max(allowed, self.apart)

    def __str__(self) -> str:
        values = f"{number(median(self.old)):>12}{number(median(self.new)):>12}"
        return f"{self.figure.label:66}{self.figure.unit:>10}{values}{self.better:+8.1f} %{self.apart:7.1f} %"


def _middle_half(values: list[float]) -> float:
    ordered = sorted(values)
    cut = len(ordered) // 4
    kept = ordered[cut : len(ordered) - cut]
    return 100 * (kept[-1] - kept[0]) / median(ordered) if median(ordered) else 0.0


def collect(pythons: dict[str, str], rounds: int, seconds: float, chosen: list[str]) -> tuple[Taken, list[str]]:
    """The samples of each figure by build, and what failed."""
    taken: Taken = {}
    failed = []
    for turn in range(rounds):
        order = BUILDS if turn % 2 == 0 else BUILDS[::-1]
        for group in chosen or groups():
            started = time.monotonic()
            for build in order:
                found = measure(pythons[build], OURS, group, seconds, False, expected(OURS, group))
                for name, sample in found.samples.items():
                    taken.setdefault(name, {}).setdefault(build, []).append(sample)
                failed += [f"round {turn + 1}, {build}, {name or group}: {text}" for name, text in found.errors.items()]
            print(
                f"round {turn + 1}/{rounds} {group:12} {time.monotonic() - started:6.1f} s", file=sys.stderr, flush=True
            )
    return taken, failed


def found_lines(taken: Taken) -> Iterator[Line]:
    for name, figure in load().items():
        by_build = taken.get(name, {})
        old, new = ([sample.value for sample in by_build.get(build, ())] for build in BUILDS)
        if old and new and min(*old, *new) > 0:
            yield Line(figure, old, new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="the interpreter that has the build to compare with")
    parser.add_argument("new", help="the interpreter that has the build to judge")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long short calls are repeated")
    parser.add_argument("--allowed", type=float, default=3.0, help="percent by which a median may be worse")
    parser.add_argument("--name", default="session")
    parser.add_argument("groups", nargs="*", metavar="group")
    options = parser.parse_intermixed_args()
    if unknown := set(options.groups) - set(groups()):
        parser.error(f"no such groups: {', '.join(sorted(unknown))}; there are {', '.join(groups())}")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    # The measuring processes run in another folder. A virtual environment's link must not be followed.
    pythons = {build: os.path.abspath(getattr(options, build)) for build in BUILDS}
    for python in pythons.values():
        if not os.access(python, os.X_OK):
            parser.error(f"{python} is no program")
    end_cleanly()
    loaded = round(os.getloadavg()[0], 2)
    taken, failed = collect(pythons, options.rounds, options.seconds, options.groups)
    heading = f"medians of {options.rounds} rounds"
    print(f"{heading:66}{'unit':>10}{'old':>12}{'new':>12}{'better':>10}{'apart':>9}")
    worse = []
    for line in found_lines(taken):
        print(line, "  WORSE" if line.worse(options.allowed) else "")
        if line.worse(options.allowed):
            worse.append(line.figure.label)
    print(*failed, sep="\n")
    samples = {name: {build: [one.value for one in all_] for build, all_ in by.items()} for name, by in taken.items()}
    result = {
        "machine": machine.describe(),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "load_before": loaded,
    }
    path = HERE / "results" / f"turns-{options.name}.json"
    path.write_text(json.dumps({**result, "failed": failed, "samples": samples}, indent=1) + "\n")
    print(f"written to tests/bench/results/{path.name}")
    return 1 if worse or failed else 0


if __name__ == "__main__":
    sys.exit(main())
