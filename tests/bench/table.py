"""Writes the README's table from a result file of `run.py`.

    table.py            puts the table of results/latest.json between the markers
    table.py --check    exit status 1 when the README holds another one

Every figure is the median that the file holds; nothing is typed by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
NONE_YET = "No result file yet: run `make bench`, then `python tests/bench/table.py`."
OURS, THEIRS = "eagleray", "ray"


def number(value: float | None) -> str:
    """Three digits: more would claim more than a median of a few rounds holds."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def rows(result: dict[str, Any]) -> list[str]:
    """The lines of the table."""
    lines = ["| | unit | Eagle Ray | Ray | times better |", "|---|---|---:|---:|---:|"]
    for figure in result["figures"].values():
        median, gain = figure["median"], figure.get("gain")
        cells = [figure["label"], figure["unit"], number(median.get(OURS)), number(median.get(THEIRS))]
        lines.append(f"| {' | '.join(cells)} | {number(gain)} |")
    return lines


def caption(result: dict[str, Any], path: Path) -> str:
    """Where the figures come from."""
    machine, systems = result["machine"], result["systems"]
    against = ", ".join(f"{name} {found['version']} on Python {found['python']}" for name, found in systems.items())
    return (
        f"Medians of {result['rounds']} rounds in turn on one machine ({machine['cores']} cores {machine['cpu']}, "
        f"{machine['memory_gib']:g} GiB, {machine['system']}), {result['date']}: {against}. "
        f"From `tests/bench/results/{path.name}`."
    )


def table(path: Path) -> str:
    """What belongs between the markers."""
    if not path.exists():
        return NONE_YET
    result = json.loads(path.read_text(encoding="utf-8"))
    return "\n".join([*rows(result), "", caption(result, path)])


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
    if options.check:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
