"""Calls the function that a runtime environment names for each worker, before the worker takes work."""

from __future__ import annotations

import base64
import importlib
import sys
import traceback
from typing import Any, NoReturn

from eagleray._private.hot_error import HotError, explain


def call(hook: dict[str, Any], hot: Any) -> None:
    """Calls the hook, then tells the daemon that this worker is ready. Ends the process if the hook fails."""
    try:
        _find(hook)()
    except BaseException as problem:
        _fail(hook, problem)
    try:
        hot.rpc("worker_ready", b"\x80", 0)  # an empty map
    except HotError as error:
        raise explain(error) from None


def _find(hook: dict[str, Any]) -> Any:
    if hook["pickled"]:
        from eagleray._private import functions

        return functions.rebuild(base64.b64decode(hook["pickled"]))
    module, _, name = hook["name"].rpartition(".")
    return getattr(importlib.import_module(module), name)


def _fail(hook: dict[str, Any], problem: BaseException) -> NoReturn:
    """Ends the process. What it writes here becomes part of the error that tasks of this environment fail with."""
    import os

    if isinstance(problem, SystemExit):
        print(f"it called sys.exit({problem.code!r})", file=sys.stderr)
    else:
        traceback.print_exception(type(problem), problem, problem.__traceback__)
    print(f"runtime_env['worker_process_setup_hook'] {hook['name']} failed", file=sys.stderr, flush=True)
    os._exit(1)
