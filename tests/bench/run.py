"""Measures Eagle Ray, and Ray beside it when it is at hand, in alternating rounds on this machine.

    run.py --quick --ray-python build/venv-ray/bin/python

Prints one table and writes results/NAME.json. With --check the exit status is 1 when a figure misses its aim.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import machine
from book import Figure, groups, load

HERE = Path(__file__).parent
OURS = "eagleray"
THEIRS = "ray"
Samples = dict[str, dict[str, list[float]]]  # figure, system, one value for each round


def measure(python: str, module: str, group: str, seconds: float) -> dict[str, float]:
    """One round of one group: figures and values; empty when the process failed."""
    done = subprocess.run(
        [python, "measure.py", "--module", module, "--group", group, "--seconds", str(seconds)],
        cwd=HERE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    if done.returncode:
        print(f"{module}: {group} failed\n{done.stderr[-2000:]}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def collect(systems: dict[str, str], options: argparse.Namespace) -> Samples:
    """All samples; the systems take turns within each round, so that a busy machine is unfair to both."""
    samples: Samples = {name: {system: [] for system in systems} for name in load()}
    for turn in range(options.rounds):
        for group in options.groups or groups():
            for system, python in systems.items():
                started = time.monotonic()
                for name, value in measure(python, system, group, options.seconds).items():
                    samples[name][system].append(value)
                seconds = time.monotonic() - started
                print(f"round {turn + 1}/{options.rounds}  {system:9} {group:10} {seconds:5.1f} s", file=sys.stderr)
    return samples


def verdict(entry: Figure, summary: dict[str, Any]) -> str:
    """Whether the figure is what was asked for; nothing when nothing was asked or measured."""
    ours = summary["median"].get(OURS)
    if ours is None:
        return ""
    if entry.limit is not None:
        return f"{'met' if ours <= entry.limit else 'MISSED'}: at most {entry.limit:g} {entry.unit}"
    if entry.floor is not None:
        return f"{'met' if ours >= entry.floor else 'MISSED'}: at least {entry.floor:g} {entry.unit}"
    if entry.times is not None and summary.get("gain") is not None:
        return f"{'met' if summary['gain'] >= entry.times else 'MISSED'}: at least {entry.times:g}x"
    return ""


def summarise(samples: Samples) -> dict[str, dict[str, Any]]:
    """Median and best of each figure, how many times better ours is by the medians, and the verdict."""
    summaries: dict[str, dict[str, Any]] = {}
    for name, entry in load().items():
        taken = {system: values for system, values in samples[name].items() if values}
        if not taken:
            continue
        summary: dict[str, Any] = {
            "label": entry.label,
            "unit": entry.unit,
            "median": {system: round(median(values), 4) for system, values in taken.items()},
            "best": {system: round(entry.best(values), 4) for system, values in taken.items()},
            "samples": {system: [round(value, 4) for value in values] for system, values in taken.items()},
        }
        if OURS in taken and THEIRS in taken:
            summary["gain"] = round(entry.gain(median(taken[OURS]), median(taken[THEIRS])), 2)
        summary["verdict"] = verdict(entry, summary)
        summaries[name] = summary
    return summaries


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def table(summaries: dict[str, dict[str, Any]], systems: dict[str, str]) -> Iterator[str]:
    """The lines of the table: median and best of each system, and the gain."""
    heads = "".join(f"{system + ' median':>18}{'best':>12}" for system in systems)
    yield f"{'figure':44}{'unit':>8}{heads}{'gain':>9}"
    for summary in summaries.values():
        cells = "".join(
            f"{number(summary['median'].get(system)):>18}{number(summary['best'].get(system)):>12}"
            for system in systems
        )
        gain = f"{summary['gain']:.1f}x" if "gain" in summary else ""
        yield f"{summary['label']:44}{summary['unit']:>8}{cells}{gain:>9}  {summary['verdict']}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 rounds of half a second a figure instead of 7 of 2")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="how long short calls are repeated")
    parser.add_argument("--ours-python", default=sys.executable, help="the interpreter that has eagleray")
    parser.add_argument("--ray-python", help="an interpreter that has Ray")
    parser.add_argument("--only", choices=[OURS, THEIRS], help="measure one system")
    parser.add_argument("--name", default="session", help="the result file's name")
    parser.add_argument("--check", action="store_true", help="fail when a figure misses its aim")
    parser.add_argument("groups", nargs="*", metavar="group")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.seconds = options.seconds or (0.5 if options.quick else 2.0)
    return options


def main() -> int:
    options = parse()
    systems = {OURS: options.ours_python, THEIRS: options.ray_python}
    systems = {name: python for name, python in systems.items() if python and options.only in (None, name)}
    summaries = summarise(collect(systems, options))
    print(*table(summaries, systems), sep="\n")
    result = {
        "name": options.name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "machine": machine.describe(),
        "systems": {name: machine.versions(python, name) for name, python in systems.items()},
        "figures": summaries,
    }
    path = HERE / "results" / f"{options.name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to tests/bench/results/{path.name}")
    missed = [summary["label"] for summary in summaries.values() if "MISSED" in summary["verdict"]]
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
