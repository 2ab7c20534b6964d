"""Measures the lines of one system on one cluster in this process, and prints a JSON object for each as it is known."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from across.figures import LINES, Field, Line, field


def told(line: Line, f: Field) -> dict[str, Any]:
    """What is to be printed of one line."""
    try:
        return {"line": line.name, "value": float(line.func(f))}
    except Exception:
        return {"line": line.name, "error": traceback.format_exc()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    for name in ("nodes", "times", "actors", "tasks"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--match", default="")
    parser.add_argument("--insecure", action="store_true", help="Eagle Ray without TLS between the nodes")
    given = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a system prints is no result
    sizes = {name: getattr(given, name) for name in ("seconds", "times", "actors", "tasks")}
    with field(given.module, given.nodes, given.insecure, **sizes) as f:
        for line in LINES:
            if given.match in line.name and (not line.only or given.nodes in line.only):
                out.write(json.dumps(told(line, f)) + "\n")
                out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
