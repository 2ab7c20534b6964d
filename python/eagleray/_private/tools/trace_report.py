"""``eagleray trace-report``: where the microseconds of a call go, by stage, from the tracer's files."""

from __future__ import annotations

import argparse
import bisect
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from eagleray._private.tools import trace_files
from eagleray._private.tools.trace_files import POINTS, Process, Way

#: For each step from one point to the next: who is at it, and what it is. A step in parentheses is one of waiting.
STEPS = (
    ("owner", "arguments serialised (Python)"),
    ("owner", "submitted (core): the task is made"),
    ("owner", "(in the owner's queue) and its frame made"),
    ("owner", "(for others to share the write)"),
    ("owner", "frame written"),
    ("kernel", "(worker wakes) and reads"),
    ("worker", "frame parsed, after those before it"),
    ("worker", "(in the worker's queue)"),
    ("worker", "handed to Python"),
    ("worker", "arguments decoded (Python)"),
    ("worker", "the function"),
    ("worker", "result encoded (Python)"),
    ("worker", "reply queued (core)"),
    ("worker", "(for others to share the write)"),
    ("worker", "reply written"),
    ("kernel", "(owner wakes) and reads"),
    ("owner", "reply parsed, after those before it"),
    ("owner", "(the thread in get wakes)"),
    ("owner", "value given to Python"),
)
#: A round trip so many times the middle one is an accident: a worker that had to be started, another program's turn.
_ACCIDENT = 3
#: The steps that calls share: whose system calls, and which.
_SHARED = {
    "write": ("owner", "wrote ns"),
    "wrote": ("workers", "read ns"),
    "write back": ("workers", "wrote ns"),
    "wrote back": ("owner", "read ns"),
}
#: Stamps on a call's own way.
_STAMPS = 17


class Group(NamedTuple):
    """Calls of one kind: of tasks or actors, and whether others were under way beside each."""

    name: str
    ways: list[Way]
    accidents: int
    bursts: list[tuple[int, int]]  # ns; stretches in which calls were under way without a pause


def main(args: Sequence[str]) -> int:
    """Prints the tables and returns the exit status."""
    given = _parser().parse_args(args)
    try:
        if given.run:
            with tempfile.TemporaryDirectory(prefix="eagleray-trace-") as folder:
                return _print(_traced_run(folder), given)
        return _print(given.folder, given)
    except BrokenPipeError:
        sys.stderr.close()
    except (OSError, ValueError) as problem:
        print(f"eagleray trace-report: {problem}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eagleray trace-report",
        description="Show where the microseconds of tasks and actor calls go, from what a program run with "
        "EAGLERAY_TRACE=FOLDER has left there.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("folder", nargs="?", help="the folder that EAGLERAY_TRACE named")
    source.add_argument("--run", action="store_true", help="trace a short program of calls that do nothing")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="numbers in ns instead of tables")
    form.add_argument("--markdown", action="store_true", help="one table of all kinds of calls, as in the documents")
    return parser


def _traced_run(folder: str) -> str:
    command = [sys.executable, "-m", "eagleray._private.tools.trace_program"]
    done = subprocess.run(command, env={**os.environ, "EAGLERAY_TRACE": folder}, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise ValueError(f"the program that was to be traced ended with status {done.returncode}")
    return folder


def _print(folder: str, given: argparse.Namespace) -> int:
    processes = trace_files.load(folder)
    ways, others = trace_files.ways(processes)
    groups = list(grouped(ways))
    if given.markdown:
        print("\n".join(markdown([numbers(one, processes) for one in groups])))
        return 0
    if given.json:
        found = {"calls": len(ways), "incomplete": others, "groups": [numbers(one, processes) for one in groups]}
        print(json.dumps(found, indent=1))
        return 0
    for one in groups:
        print("\n".join([*table(one, processes), ""]))
    print(f"{len(ways)} calls with all their stages, {others} without.")
    lost = sum(process.lost for process in processes)
    if lost:
        print(f"{lost} older stamps did not fit: only the last calls are here.")
    return 0


def grouped(ways: list[Way]) -> Iterator[Group]:
    """The calls by kind; those that were alone between two others, and those that were not."""
    kinds: dict[tuple[bool, bool], list[Way]] = {}
    reach = 0
    for index, way in enumerate(ways):
        following = ways[index + 1].points[0] if index + 1 < len(ways) else way.points[-1]
        alone = way.points[0] >= reach and way.points[-1] <= following
        reach = max(reach, way.points[-1])
        kinds.setdefault((way.method, alone), []).append(way)
    for (method, alone), found in sorted(kinds.items(), key=lambda entry: (entry[0][0], not entry[0][1])):
        most = _ACCIDENT * statistics.median(_length(way) for way in found)
        usual = [way for way in found if _length(way) <= most]
        name = f"{'actor calls' if method else 'tasks'}, {'one after the other' if alone else 'many at once'}"
        yield Group(name, usual, len(found) - len(usual), list(_bursts(usual)))


def _length(way: Way) -> int:
    return way.points[-1] - way.points[0]


def _bursts(ways: list[Way]) -> Iterator[tuple[int, int]]:
    begin = end = -1
    for way in ways:
        if way.points[0] > end:
            if begin >= 0:
                yield begin, end
            begin = way.points[0]
        end = max(end, way.points[-1])
    if begin >= 0:
        yield begin, end


def steps(group: Group) -> list[list[int]]:
    """For each of STEPS what it took of each call, in ns."""
    return [[way.points[at + 1] - way.points[at] for way in group.ways] for at in range(len(STEPS))]


def shared(group: Group, processes: list[Process]) -> dict[str, dict[str, float]]:
    """What owner and workers spent on system calls while the group's calls were under way, for each call."""
    calls = len(group.ways)
    found: dict[str, dict[str, float]] = {}
    for process in processes:
        entry = found.setdefault("owner" if process.role != "worker" else "workers", {})
        for what, per_fd in process.spans.items():
            for span in (span for spans in per_fd.values() for span in spans):
                if _inside(span.begin, group.bursts):
                    entry[f"{what} ns"] = entry.get(f"{what} ns", 0) + span.took / calls
                    entry[what] = entry.get(what, 0) + 1 / calls
    return found


def _inside(ns: int, bursts: list[tuple[int, int]]) -> bool:
    at = bisect.bisect_right(bursts, (ns, sys.maxsize)) - 1
    return at >= 0 and ns <= bursts[at][1]


def numbers(group: Group, processes: list[Process]) -> dict[str, Any]:
    """The group as plain data."""
    lengths = [_length(way) for way in group.ways]
    wall = sum(end - begin for begin, end in group.bursts) / len(group.ways)
    return {
        "name": group.name,
        "calls": len(group.ways),
        "accidents": group.accidents,
        "round_trip_ns": statistics.fmean(lengths),
        "one_every_ns": wall,
        "stamp_ns": statistics.fmean(float(process.about["stamp_ns"]) for process in processes),
        "steps": [
            {
                "from": POINTS[at],
                "to": POINTS[at + 1],
                "who": who,
                "what": what,
                "mean_ns": statistics.fmean(took),
                "median_ns": statistics.median(took),
            }
            for at, ((who, what), took) in enumerate(zip(STEPS, steps(group), strict=True))
        ],
        "system_calls": shared(group, processes),
    }


def table(group: Group, processes: list[Process]) -> Iterator[str]:
    """The group as lines of text, in µs."""
    found = numbers(group, processes)
    yield f"{group.name}: {found['calls']} calls, {group.accidents} accidents left out"
    yield f"  {'':6}  {'stage':44}{'mean µs':>10}{'middle':>10}"
    for step in found["steps"]:
        yield f"  {step['who']:6}  {step['what']:44}{step['mean_ns'] / 1e3:10.2f}{step['median_ns'] / 1e3:10.2f}"
    yield f"  {'':6}  {'round trip, the sum':44}{found['round_trip_ns'] / 1e3:10.2f}"
    yield f"  {'':6}  {'of which the stamps, about':44}{_STAMPS * found['stamp_ns'] / 1e3:10.2f}"
    yield f"  one call every {found['one_every_ns'] / 1e3:.2f} µs; system calls for each:"
    for who, entry in found["system_calls"].items():
        parts = [
            f"{entry[name]:.3f} {verb} of {entry[f'{name} ns'] / entry[name] / 1e3:.2f} µs"
            for name, verb in (("wrote", "writes"), ("read", "reads"), ("polled", "polls"))
            if name in entry
        ]
        if parts:
            yield f"    {who:8}{', '.join(parts)}"


def markdown(groups: list[dict[str, Any]]) -> Iterator[str]:
    """One table, a column for each group, in µs.

    Of calls that were alone the means. Of those that were not the middle values, and of reads and writes, which they
    share, the part of one call; how long they waited tells how many they were, and is left out.
    """
    yield f"| who | stage | {' | '.join(group['name'] for group in groups)} |"
    yield f"|---|---|{'---:|' * len(groups)}"
    for at, (who, what) in enumerate(STEPS):
        cells = [_cell(group, at) for group in groups]
        yield f"| {who} | {what} | {' | '.join(cells)} |"
    for name, value in (("round trip, the sum", "round_trip_ns"), ("one call every", "one_every_ns")):
        cells = [
            "" if value == "round_trip_ns" and not _is_alone(group) else f"**{group[value] / 1e3:.2f}**"
            for group in groups
        ]
        yield f"| | {name} | {' | '.join(cells)} |"


def _is_alone(group: dict[str, Any]) -> bool:
    return str(group["name"]).endswith("one after the other")


def _cell(group: dict[str, Any], at: int) -> str:
    step = group["steps"][at]
    if _is_alone(group):
        return f"{step['mean_ns'] / 1e3:.2f}"
    name = POINTS[at]
    if name in _SHARED:
        who, what = _SHARED[name]
        return f"{group['system_calls'].get(who, {}).get(what, 0) / 1e3:.2f}"
    if "(" in step["what"].replace("(Python)", "").replace("(core)", "") or name in ("read", "read back"):
        return ""
    return f"{step['median_ns'] / 1e3:.2f}"
