"""``eagleray run``: runs a Python program in which ``import ray`` is eagleray, with nothing further installed.

The interpreter takes the place of this process, so arguments, signals and the exit status are those of ``python``.
``PYTHONPATH`` begins with a folder whose package ``ray`` is eagleray. That is so for the program's own child processes,
too; workers get the name by ``alias.VARIABLE``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from eagleray._private import alias

_USAGE = """\
usage: eagleray run [flags of python] SCRIPT [arguments]
       eagleray run [flags of python] -m MODULE [arguments]
       eagleray run [flags of python] -c PROGRAM [arguments]

Runs a program as `python` does, with `import ray` meaning Eagle Ray in it, in all its workers on all nodes, and in the
processes that it starts. The distribution eagleray-ray-compat is not needed, and a Ray that is installed is not used.
"""
#: The interpreter's flags that may stand before the program; the last of these letters has a value.
_FLAGS = "bBdiOqRsuvxXW"
_WITH_VALUE = "XW"
_PROGRAM = "mc"
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ray_name")


def main(args: Sequence[str]) -> int:
    """Becomes the interpreter; returns a status only if there is nothing to run."""
    if args and args[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0
    problem = _problem(args)
    if problem:
        print(f"eagleray run: {problem}; see eagleray run --help", file=sys.stderr)
        return 2
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([_FOLDER, *([path] if path else [])])
    os.environ[alias.VARIABLE] = "1"
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *args])


def _problem(args: Sequence[str]) -> str | None:
    """Why these arguments name no program to run."""
    at = 0
    while at < len(args):
        arg = args[at]
        if not arg.startswith("-") or arg == "-":
            return None
        if arg == "--":
            return None if at + 1 < len(args) else "there is no script"
        for place, letter in enumerate(arg[1:], 1):
            if letter in _PROGRAM:
                given = place + 1 < len(arg) or at + 1 < len(args)
                return None if given else f"-{letter} needs the {'module' if letter == 'm' else 'program'} to run"
            if letter in "IE":
                return f"with {arg} the interpreter would ignore PYTHONPATH, which brings the name ray"
            if letter not in _FLAGS:
                return f"unknown flag {arg!r}: flags of the program itself come after the script"
            if letter in _WITH_VALUE:
                at += place + 1 == len(arg)
                break
        at += 1
    return "there is no script to run"
