"""Writes the README's table from a result file of `run.py`, and the plots' captions from one of `curves.py`.

    table.py            puts the table of results/latest.json between the markers
    table.py --check    exit status 1 when the README holds another one, or a plot was drawn from another file

Every figure is the median that the file holds; nothing is typed by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import plots
from lines import details, judgement, number
from verdicts import NAMES

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
NONE_YET = "No result file yet: run `make bench`."
OURS, THEIRS = "eagleray", "ray"


def cell(summary: dict[str, Any], system: str) -> str:
    """Median, and the best round where there were several."""
    value = summary["median"].get(system)
    failed = "**failed** " if system in summary.get("failed", ()) else ""
    if value is None:
        return failed.strip()
    best = summary["best"].get(system) if len(summary.get("samples", {}).get(system, ())) > 1 else None
    return f"{failed}{number(value)}" + (f" ({number(best)})" if best is not None else "")


def bare(summary: dict[str, Any]) -> str:
    """What the machine did with nothing around it, and which part of that ours is."""
    if "bare" not in summary:
        return ""
    return f"{number(summary['bare'])}; {summary['of_bare']:.2g} of it"


def remark(summary: dict[str, Any]) -> str:
    """The verdict, and what is to be said of the line."""
    parts = [judgement(summary).replace("MISSED", "**missed**").replace("NOT at", "**not** at"), *details(summary)]
    return ". ".join(part for part in parts if part)


def rows(result: dict[str, Any]) -> list[str]:
    """The lines of the table; a peer has a column when it was measured."""
    peers = [name for name in result["systems"] if name not in (OURS, THEIRS)]
    heads = [
        "",
        "unit",
        NAMES[OURS],
        NAMES[THEIRS],
        "times better",
        "bare",
        *(NAMES.get(one, one) for one in peers),
        "",
    ]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 3) + "---|"]
    for summary in result["figures"].values():
        gain = number(summary["gain"]) if "gain" in summary else ""
        cells = [summary["label"], summary["unit"], cell(summary, OURS), cell(summary, THEIRS), gain, bare(summary)]
        cells += [*(cell(summary, one) for one in peers), remark(summary)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def caption(result: dict[str, Any], path: Path) -> str:
    """Where the figures come from."""
    machine, systems = result["machine"], result["systems"]
    against = ", ".join(
        f"{NAMES.get(name, name)} {found['version']} on Python {found['python']}" for name, found in systems.items()
    )
    once = "" if result.get("long", True) else " The quick form: peers, and what takes Ray minutes, had one round."
    kind = f"{machine['cores']} cores {machine['cpu']}, {machine['memory_gib']:g} GiB, {machine['system']}"
    return (
        f"Median (best) of {result['rounds']} rounds in turn on one machine ({kind}), {result['date']}: {against}."
        f"{once} From `tests/bench/results/{path.name}`."
    )


def curves(path: Path) -> list[str]:
    """The plots of the curves, and how far each system came."""
    if not path.exists():
        return []
    result = json.loads(path.read_text(encoding="utf-8"))
    shown = [f"![{plots.TITLES[name][0]}](docs/plots/{name}.svg)" for name in result["curves"]]
    stopped = [
        f"{NAMES[system]} before {point['stopped_before']:,} {plots.TITLES[name][1]}"
        for name, systems in result["curves"].items()
        for system, points in systems.items()
        for point in points
        if "stopped_before" in point
    ]
    ended = f" A curve ends after {result['cap_seconds']:g} s: {', '.join(stopped)}." if stopped else ""
    return ["", *shown, "", f"Curves of {result['date']}, from `tests/bench/results/{path.name}`.{ended}"]


def table(path: Path) -> str:
    """What belongs between the markers."""
    if not path.exists():
        return NONE_YET
    result = json.loads(path.read_text(encoding="utf-8"))
    gains = ["![Times better than Ray](docs/plots/gains.svg)", ""]
    return "\n".join([*gains, *rows(result), "", caption(result, path), *curves(path.with_name("curves.json"))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="latest", help="the result file's name")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    old = README.read_text(encoding="utf-8")
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"README.md has no {BEGIN} … {END}", file=sys.stderr)
        return 1
    new = f"{before}{BEGIN}\n{table(HERE / 'results' / f'{options.name}.json')}\n{END}{after}"
    if not options.check:
        README.write_text(new, encoding="utf-8")
        return 0
    if new != old:
        print("README.md has another table than its result file: run `python tests/bench/table.py`", file=sys.stderr)
    for name in plots.stale():
        print(f"docs/plots/{name} is not drawn from its result file: run `make plots`", file=sys.stderr)
    return int(new != old or bool(plots.stale()))


if __name__ == "__main__":
    sys.exit(main())
