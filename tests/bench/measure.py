"""Measures one group of figures with one system in this process; prints a JSON object of figures as its last line."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import uuid

import memory
from book import IMPORTS, INIT, NO_SESSION, Bench, groups


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a system prints is no result
    os.environ[memory.MARKER] = uuid.uuid4().hex
    bench = Bench(options.module, options.seconds)
    if options.group in IMPORTS:
        importlib.import_module(IMPORTS[options.group])
    if options.group not in NO_SESSION:
        bench.ray.init(**INIT)
    entries = [entry for entry in groups()[options.group] if not entry.alone or bench.module == "eagleray"]
    values = {entry.name: entry.func(bench) for entry in entries}
    if options.group not in NO_SESSION:
        bench.ray.shutdown()
    out.write(json.dumps(values) + "\n")
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
