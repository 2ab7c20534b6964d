"""The cache of unpacked libraries: one folder for each version, named by the version and the digest of its files.

A folder appears in the cache by a rename, when it is whole. Nothing in it is changed after that but ``__pycache__``.
Whoever adds or removes a folder holds the cache's lock.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from eagleray._private.libraries import releases

TYPE_CHECKING = False  # each program that says ray loads this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

#: The variable that names the folder of the cache.
VARIABLE = "EAGLERAY_RAY_LIBS"
#: What a folder of the cache holds: this folder, in which there are the package ``ray`` and the list of its files.
INNER = "eagleray_ray_libraries"
LIST = "files.json"
#: The beginning of names of folders that are not whole yet, or are about to go.
PARTIAL = ".partial-"
_LOCK = ".lock"
#: How large a list of files may be.
_MOST_LISTED = 4 << 20


def folder() -> str:
    """Returns the folder of the cache: that of the variable, else one in the user's folder of caches."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(caches):  # a relative one counts as not set
        caches = os.path.expanduser("~/.cache")
    return os.path.join(caches, "eagleray", "ray-libs")


def place(version: str) -> str:
    """Returns where a version's libraries are, or would be."""
    return os.path.join(folder(), f"{version}-{releases.CONTENTS[version][:16]}")


def is_whole(root: str) -> bool:
    """Whether a folder holds installed libraries."""
    return os.path.isfile(os.path.join(root, INNER, LIST))


def installed() -> list[str]:
    """Returns the versions that are installed."""
    return [version for version in releases.WHEELS if is_whole(place(version))]


def listed(root: str) -> dict[str, str]:
    """Returns the files of a folder of the cache with their SHA-256, as its list has them.

    Raises:
        ValueError: the list cannot be read, or is none.
    """
    import json

    path = os.path.join(root, INNER, LIST)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MOST_LISTED + 1)
        found: Any = json.loads(text) if len(text) <= _MOST_LISTED else None
    except (OSError, ValueError, RecursionError) as problem:
        raise ValueError(f"{path} cannot be read: {problem}") from None
    if not isinstance(found, dict) or not all(isinstance(digest, str) for digest in found.values()):
        raise ValueError(f"{path} is not a list of files")
    return found


def digest_of(files: dict[str, str]) -> str:
    """Returns the digest over files, given each one's path and SHA-256."""
    import hashlib

    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{path}\0{files[path]}\n".encode())
    return whole.hexdigest()


def problems(version: str) -> list[str]:
    """Returns what is wrong with a version's files; nothing if all are those of Ray's wheel."""
    import hashlib

    root = place(version)
    try:
        files = listed(root)
    except ValueError as problem:
        return [str(problem)]
    if digest_of(files) != releases.CONTENTS[version]:
        return [f"{os.path.join(root, INNER, LIST)} was changed: it is not the list of Ray {version}"]
    found = []
    for path, digest in files.items():
        full = os.path.join(root, INNER, path)
        try:
            with open(full, "rb") as file:
                changed = hashlib.sha256(file.read()).hexdigest() != digest
        except OSError as problem:
            found.append(f"{full}: {problem.strerror}")
            continue
        if changed:
            found.append(f"{full} was changed")
    for at, folders, names in os.walk(os.path.join(root, INNER)):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in names:
            path = os.path.relpath(os.path.join(at, name), os.path.join(root, INNER))
            if path not in files and path != LIST:
                found.append(f"{os.path.join(root, INNER, path)} does not belong to Ray {version}")
    return found


def remove(version: str) -> bool:
    """Removes a version's libraries. Returns whether they were there."""
    import shutil

    with locked():
        root = place(version)
        if not os.path.isdir(root):
            return False
        going = partial(f"gone-{version}")
        os.rename(root, going)  # whoever looks meanwhile finds all of it or nothing
        shutil.rmtree(going)
        return True


def partial(name: str) -> str:
    """Returns the path of a folder that is not part of the cache yet, or any more. Its name is free."""
    return os.path.join(folder(), f"{PARTIAL}{name}-{os.getpid()}")


@contextmanager
def locked(waits: Callable[[], None] | None = None) -> Iterator[None]:
    """A ``with`` block in which no other process changes the cache. What killed processes have left is removed first.

    Args:
        waits: Called if another process has the lock, before it is waited for.
    """
    import fcntl
    import shutil

    where = folder()
    os.makedirs(where, mode=0o700, exist_ok=True)
    handle = os.open(os.path.join(where, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waits is not None:
                waits()
            fcntl.flock(handle, fcntl.LOCK_EX)
        for entry in os.listdir(where):
            if entry.startswith(PARTIAL):
                shutil.rmtree(os.path.join(where, entry), ignore_errors=True)
        yield
    finally:
        os.close(handle)
