"""Compares Eagle Ray with Ray, case by case.

    run.py --python OURS                          Eagle Ray against the recorded output of Ray
    run.py --python OURS --ray-python RAYS        both live, as `make compat` does
    run.py --record --ray-python RAYS             records the output of Ray anew

Cases may be chosen by theme or by name. Each runs in a process of its own, or with --shared each theme does. The exit
status is 1 when a case differs without being listed in differences.json.
"""

from __future__ import annotations

import argparse
import difflib
import sys

import golden
from runner import Result, Side, names, run, theme


def chosen(everything: list[str], words: list[str]) -> list[str]:
    return [name for name in everything if not words or name in words or theme(name) in words]


def collect(side: Side, wanted: list[str], options: argparse.Namespace) -> dict[str, Result]:
    """Runs one side, saying how far it is."""
    results: dict[str, Result] = {}
    for result in run(side, wanted, options.shared, options.verbose):
        results[result.name] = result
        mark = "" if result.failure is None else "  " + result.failure.strip().splitlines()[-1]
        print(
            f"{side.module:9} {len(results):3}/{len(wanted)} {result.seconds:6.2f} s  {result.name}{mark}", flush=True
        )
    return results


def show_difference(name: str, expected: str, actual: str, labels: tuple[str, str]) -> None:
    print(f"\n--- {name}")
    for line in difflib.unified_diff(expected.splitlines(), actual.splitlines(), *labels, lineterm="", n=1):
        print("   ", line)


def record(options: argparse.Namespace) -> int:
    side = Side(options.ray_python, "ray")
    known = names(side)
    results = collect(side, chosen(known, options.words), options)
    broken = [result for result in results.values() if result.failure]
    for result in broken:
        print(f"\n--- {result.name}\n{result.failure}")
    golden.write((result for result in results.values() if not result.failure), known)
    return 1 if broken else 0


def compare(options: argparse.Namespace) -> int:
    ours = Side(options.python, options.module)
    wanted = chosen(names(ours), options.words)
    expected = golden.expected_of_ours()
    deliberate = golden.differences()
    if options.ray_python:
        theirs = collect(Side(options.ray_python, "ray"), wanted, options)
        rays = {name: result.text for name, result in theirs.items()}
        expected |= {name: text for name, text in rays.items() if name not in deliberate}
    results = collect(ours, wanted, options)
    rays_texts = rays if options.ray_python else golden.read()
    table: dict[str, list[str]] = {"same": [], "deliberate": [], "stale": [], "different": []}
    for name in wanted:
        text = results[name].text
        if name in deliberate and text == rays_texts.get(name):
            table["stale"].append(name)
        elif text != expected.get(name):
            table["different"].append(name)
            show_difference(name, expected.get(name, ""), text, ("expected", ours.module))
        else:
            table["deliberate" if name in deliberate else "same"].append(name)
    for name in table["deliberate"]:
        print(f"deliberate: {name}: {deliberate[name].reason}")
    for name in table["stale"]:
        print(f"stale: {name} is listed in differences.json and is the same as Ray")
    print("\n" + ", ".join(f"{len(found)} {what}" for what, found in table.items()))
    return 1 if table["different"] or table["stale"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has Eagle Ray")
    parser.add_argument("--module", default="eagleray", help="what it imports")
    parser.add_argument("--ray-python", help="an interpreter that has Ray")
    parser.add_argument("--record", action="store_true", help="write golden/ from Ray")
    parser.add_argument("--shared", action="store_true", help="one process for each theme: faster")
    parser.add_argument("--verbose", action="store_true", help="show what the processes write to standard error")
    parser.add_argument("words", nargs="*", metavar="theme|case")
    options = parser.parse_args()
    if options.record and not options.ray_python:
        parser.error("--record needs --ray-python")
    return record(options) if options.record else compare(options)


if __name__ == "__main__":
    sys.exit(main())
