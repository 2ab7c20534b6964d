"""Applies a change of ``PYTHONPATH`` to a list of folders like ``sys.path``.

The interpreter reads ``PYTHONPATH`` only when it starts. Workers find modules like an interpreter that
starts with the value at the session's begin, or with the value that a runtime environment sets.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence

NAME = "PYTHONPATH"
_REFERENCE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)
_UPPER = re.compile(r"[A-Z0-9_]+")


def at_start() -> str | None:
    """Returns the value that this process's interpreter started with, None if the variable was not set."""
    try:
        with open("/proc/self/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return os.environ.get(NAME)
    start = NAME.encode() + b"="
    return next((os.fsdecode(text[len(start) :]) for text in variables if text.startswith(start)), None)


def folders(text: str | None, cwd: str) -> list[str]:
    """Returns the folders that a value of the variable names.

    Args:
        text: The value. An empty piece between two separators means the current folder, as for the interpreter.
        cwd: The folder that relative pieces are in.
    """
    if not text:
        return []
    return list(dict.fromkeys(os.path.normpath(os.path.join(cwd, piece)) for piece in text.split(os.pathsep)))


def follow(path: Sequence[str], now: Sequence[str], before: Sequence[str]) -> list[str]:
    """Returns the search path after the variable has changed.

    The folders that are named now come where the interpreter would have put them: in front of the standard library,
    in the order of the variable. What the program itself has put in front of that place stays in front. Folders that
    the variable named before stay behind the new ones: the program may have imported modules from there.

    Args:
        path: The search path before the change.
        now: The folders that the variable names now.
        before: The folders that the variable named when ``path`` was made.
    """
    if list(now) == list(before):
        return list(path)
    place = _library(path)
    for index, entry in enumerate(path[:place]):
        if entry in before:
            place = index
            break
    head = list(path[:place])
    added = [folder for folder in now if folder not in head]
    return [*head, *added, *(entry for entry in path[place:] if entry not in added)]


def replace(path: Sequence[str], now: Sequence[str], before: Sequence[str], kept: Collection[str]) -> list[str]:
    """Returns the search path of an interpreter that starts with another value of the variable.

    Folders that the variable named before and does not name now are gone. The first entry always stays: it is
    the folder of the program, which the interpreter has added itself.

    Args:
        path: The search path before the change.
        now: The folders that the variable names now.
        before: Those that it named when ``path`` was made.
        kept: Folders that stay although the variable does not name them any more.
    """
    gone = {*path[:1]} | {*before} - {*now} - {*kept}
    return [*path[:1], *(entry for entry in follow(path[1:], now, before) if entry not in gone)]


def _library(path: Sequence[str]) -> int:
    """Returns the index at which the standard library begins in a search path."""
    library = os.path.dirname(os.__file__)
    archive = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"
    for index, entry in enumerate(path):
        if entry == library or os.path.basename(entry) == archive:
            return index
    return len(path)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replaces ``$NAME`` and ``${NAME}`` by the values of variables, as Ray does in ``env_vars``.

    Args:
        text: What the user wrote.
        variables: The values. ``${NAME}`` in capital letters becomes empty if the variable is not set.
    """
    if "$" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2] or ""
        if name in variables:
            return variables[name]
        return "" if found[2] and _UPPER.fullmatch(found[2]) else found[0]

    return _REFERENCE.sub(value, text)
