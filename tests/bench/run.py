"""Measures Eagle Ray, and Ray and its peers beside it when they are at hand, in alternating rounds on this machine.

    run.py --quick --ray-python build/venv-ray/bin/python --peers-python build/venv-peers/bin/python

Prints one table and writes results/NAME.json. The exit status is 1 when a round failed; with --check also when a
figure misses its aim or a peer is better and nothing says why.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import lines
import machine
import peers
from book import OURS, THEIRS
from rounds import collect, end_cleanly
from verdicts import shortcomings, summarise

HERE = Path(__file__).parent


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 rounds of half a second a figure instead of 7 of 2")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="how long short calls are repeated")
    parser.add_argument("--ours-python", default=sys.executable, help="the interpreter that has eagleray")
    parser.add_argument("--ray-python", help="an interpreter that has Ray")
    parser.add_argument("--peers-python", help="an interpreter that has Dask and joblib")
    parser.add_argument("--only", action="append", metavar="SYSTEM", help="measure this system; may be repeated")
    parser.add_argument("--name", default="session", help="the result file's name")
    parser.add_argument("--check", action="store_true", help="fail when a figure misses its aim")
    parser.add_argument("groups", nargs="*", metavar="group")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.seconds = options.seconds or (0.5 if options.quick else 2.0)
    return options


def main() -> int:
    options = parse()
    end_cleanly()
    pythons = {OURS: options.ours_python, THEIRS: options.ray_python}
    pythons |= dict.fromkeys(peers.SYSTEMS, options.peers_python)
    systems = {name: found for name, found in pythons.items() if found and name in (options.only or pythons)}
    result = {
        "name": options.name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "long": not options.quick,
        "machine": machine.describe(),
        "load_before": round(os.getloadavg()[0], 2),
        "systems": {name: machine.versions(python, name) for name, python in systems.items()},
    }
    results = collect(systems, options.rounds, options.seconds, not options.quick, options.groups)
    summaries = summarise(results)
    result |= {"figures": summaries, "failures": results.failures}
    print(lines.heading(result))
    print(*lines.table(summaries, list(systems)), sep="\n")
    path = HERE / "results" / f"{options.name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to tests/bench/results/{path.name}")
    for one in results.failures:
        print(f"FAILED in round {one['round']}: {one['system']} {one['group']} {one['figure']}\n{one['error']}")
    missed = shortcomings(summaries)
    print(*missed, sep="\n")
    return 1 if results.failures or (options.check and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
