"""Runs cases in this process. `runner.py` starts it and reads JSON lines: a case starts, and its result."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any, TextIO

from casebook import Case, load


class Sessions:
    """Starts a session when the next case needs another one than the one that runs."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.current: Mapping[str, Any] | None = None

    def enter(self, init: Mapping[str, Any] | None) -> None:
        if self.current is not None and self.current == init and self.ray.is_initialized():
            return
        self.leave()
        if init is not None:
            self.ray.init(**init)
        self.current = init

    def leave(self) -> None:
        if self.ray.is_initialized():
            self.ray.shutdown()
        self.current = None


class MainThreadOnly(io.StringIO):
    """Keeps what the case itself prints; a runtime's own threads go to standard error."""

    def write(self, text: str) -> int:
        if threading.current_thread() is threading.main_thread():
            return super().write(text)
        return sys.stderr.write(text)


def run_case(case: Case, sessions: Sessions) -> dict[str, Any]:
    """The result of one case: its output, and the exception that ended it if one did."""
    output = MainThreadOnly()
    started = time.monotonic()
    error = None
    try:
        sessions.enter(case.init)
        with contextlib.redirect_stdout(output):
            case.func(sessions.ray)
    except BaseException:
        error = traceback.format_exc()
    if error or case.init is None:
        sessions.leave()
    seconds = round(time.monotonic() - started, 2)
    return {"name": case.name, "output": output.getvalue(), "error": error, "seconds": seconds}


def announce(out: TextIO, message: dict[str, Any]) -> None:
    """Writes one line at once, so that a reader knows what was done when this process dies."""
    out.write(json.dumps(message) + "\n")
    out.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", default="eagleray", help="the runtime to import: ray or eagleray")
    parser.add_argument("--list", action="store_true", help="print the names of all cases and end")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        print(*load(), sep="\n")
        return 0
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a runtime prints by itself is no result
    cases = load()
    sessions = Sessions(importlib.import_module(options.module))
    failed = False
    try:
        for name in options.names:
            announce(out, {"starting": name})
            result = run_case(cases[name], sessions)
            failed |= result["error"] is not None
            announce(out, result)
    finally:
        sessions.leave()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
