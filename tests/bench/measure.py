"""Measures one group of figures with one system in this process.

Prints a JSON object for each figure as soon as it is known: its value and what goes with it, the error that it ended
with, or that the system does not have what it needs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import traceback
import uuid
from collections.abc import Callable
from typing import Any

import memory
from book import IMPORTS, INIT, NO_SESSION, OURS, THEIRS, Bench, Taken, groups


def told(name: str, func: Callable[[Bench], float], bench: Bench) -> dict[str, Any]:
    """What is to be printed of one figure."""
    try:
        value = func(bench)
    except Exception:
        return {"figure": name, "error": traceback.format_exc()}
    found: dict[str, Any] = {"figure": name, "value": float(value)}
    if isinstance(value, Taken):
        found |= {"bare": value.bare, "note": value.note}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a system prints is no result
    os.environ.setdefault(memory.MARKER, uuid.uuid4().hex)
    bench = Bench(options.module, options.seconds, options.long)

    def tell(found: dict[str, Any]) -> None:
        out.write(json.dumps(found) + "\n")
        out.flush()

    if options.module not in (OURS, THEIRS):
        peer = importlib.import_module(f"peers.{options.module}")
        with peer.session(options.group, bench):
            for name, func in peer.FIGURES.get(options.group, {}).items():
                tell(told(name, func, bench))
        return 0
    if options.group in IMPORTS:
        importlib.import_module(IMPORTS[options.group])
    if options.group not in NO_SESSION:
        bench.ray.init(**INIT)
    for entry in groups()[options.group]:
        if entry.alone and not bench.ours:
            continue
        if entry.needs and not entry.there(bench.ray):
            tell({"figure": entry.name, "absent": entry.needs})
            continue
        tell(told(entry.name, entry.func, bench))
    if options.group not in NO_SESSION:
        bench.ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
