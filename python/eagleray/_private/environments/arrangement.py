"""How a zygote's paths follow from what its environment needs and what was made for it."""

from __future__ import annotations

import json
import os
from _blake2 import blake2b  # what hashlib gives, without loading OpenSSL
from collections.abc import MutableMapping, Sequence
from typing import Any, NamedTuple

_MARK = "eagleray-made-"


def marker(field: str, what: str) -> str:
    """Returns the text that stands for a folder in paths before the folder is made."""
    return _MARK + blake2b(f"{field} {what}".encode(), digest_size=12).hexdigest()


def _folders(needs: Sequence[dict[str, Any]], made: Sequence[Any]) -> dict[str, str]:
    """Returns the folders that were made, by their markers."""
    return {
        marker(need["Field"], need["What"]): answer["folder"]
        for need, answer in zip(needs, made, strict=True)
        if answer and "folder" in answer
    }


def _follow(path: str, folders: dict[str, str]) -> str:
    """Returns a path in which a marker is replaced by the folder that it stands for."""
    if not path.startswith(_MARK):
        return path
    mark, slash, rest = path.partition("/")
    return folders.get(mark, mark) + slash + rest


def working_dir(cwd: str, needs: Sequence[dict[str, Any]], made: Sequence[Any]) -> str:
    """Returns the folder that workers run in, from what was made so far."""
    return _follow(cwd, _folders(needs, made))


class Arranged(NamedTuple):
    """The places of a zygote and its workers."""

    cwd: str
    sys_path: list[str]
    variables: dict[str, str]  # to be set last: they are this node's alone
    bin: str  # a folder that comes first in PATH, empty if there is none


def arrange(setup: dict[str, Any], own_path: Sequence[str]) -> Arranged:
    """Returns the places for a zygote.

    Args:
        setup: What it was told.
        own_path: The ``sys.path`` that its interpreter has started with.
    """
    needs, made = setup["needs"], setup["made"]
    folders = _folders(needs, made)
    path = [_follow(entry, folders) for entry in setup["sys_path"]]
    variables: dict[str, str] = {}
    bin_folder = ""
    for need, answer in zip(needs, made, strict=True):
        if need["Field"] == "py_executable":
            path = _of_interpreter(path, json.loads(need["What"]), own_path)
        if answer and "sites" in answer:
            path = _before(path, answer["sites"], answer["before"])
            variables.update(answer["variables"])
            bin_folder = answer["path"]
    return Arranged(_follow(setup["cwd"], folders), path, variables, bin_folder)


def _of_interpreter(path: list[str], what: dict[str, Any], own_path: Sequence[str]) -> list[str]:
    """Replaces the folders of the program's interpreter by those of the interpreter that the user names."""
    drop = set(what["drop"])
    kept = [entry for entry in path if entry not in drop]
    # The first one is the folder that the zygote was started in.
    own = [entry for entry in own_path if entry not in (*kept, *what["last"], "", "/")]
    return [*kept, *own, *(entry for entry in what["last"] if entry not in kept and entry not in own)]


def _before(path: list[str], sites: Sequence[str], inherited: Sequence[str]) -> list[str]:
    """Puts the folders of a virtual environment in front of those that it inherits from."""
    rest = [entry for entry in path if entry not in sites]
    place = next((index for index, entry in enumerate(rest) if entry in inherited), len(rest))
    return [*rest[:place], *sites, *rest[place:]]


def finish(environ: MutableMapping[str, str], arranged: Arranged) -> None:
    """Sets the variables that are of this node: tasks that a worker submits to other nodes do not get them."""
    environ.update(arranged.variables)
    if arranged.bin:
        environ["PATH"] = os.pathsep.join(filter(None, [arranged.bin, environ.get("PATH")]))


def hook(needs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns what a worker calls before it takes work, None if there is nothing."""
    for need in needs:
        if need["Field"] == "worker_process_setup_hook":
            found: dict[str, Any] = json.loads(need["What"])
            return found
    return None


def is_foreign(setup: dict[str, Any]) -> bool:
    """Whether the user has named the interpreter: it need not have what the program's has."""
    return any(need["Field"] == "py_executable" for need in setup.get("needs") or ())
