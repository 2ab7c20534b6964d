"""Packs the folders of a submitted job's runtime environment for the upload."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import IO, Any

from eagleray._private.environments import checks
from eagleray._private.session import node

_EXCLUDED = ".git,.venv,venv,__pycache__"
_EXCLUDED_VARIABLE = "RAY_OVERRIDE_RUNTIME_ENV_DEFAULT_EXCLUDES"
_NO_GITIGNORE_VARIABLE = "RAY_RUNTIME_ENV_IGNORE_GITIGNORE"
_ARCHIVES = (".zip", ".jar", ".whl", ".tar.gz", ".tgz")
_PIECE = 1 << 20

#: Uploads a package under a name: its file and its length.
Upload = Callable[[str, IO[bytes], int], None]


def upload(runtime_env: dict[str, Any], send: Upload) -> dict[str, Any]:
    """Returns a runtime environment whose local folders are uploaded packages.

    Args:
        runtime_env: As the user gives it.
        send: Uploads one package, unless the server has it.

    Raises:
        ValueError: a folder does not exist, or is too large.
        TypeError: a field has the wrong type.
    """
    made = dict(runtime_env)
    excludes = made.get("excludes") or []
    working_dir = made.get("working_dir")
    if working_dir is not None:
        made["working_dir"] = _one("working_dir", working_dir, excludes, False, send)
    modules = made.get("py_modules")
    if modules is not None:
        if not isinstance(modules, list):
            raise TypeError(f"runtime_env['py_modules'] must be a list, got {type(modules).__name__}")
        made["py_modules"] = [_one("py_modules", _path(item), excludes, True, send) for item in modules]
    return made


def _path(item: Any) -> Any:
    """Returns the folder or file that an entry of ``py_modules`` means. The entry is a path or a module."""
    found = getattr(item, "__path__", None)
    return next(iter(found)) if found else getattr(item, "__file__", item)


def _one(field: str, value: Any, excludes: Sequence[str], named: bool, send: Upload) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"runtime_env[{field!r}] must be a path, got {type(value).__name__}")
    path = os.fspath(value)
    if "://" in path:
        return path if path.startswith("gcs://") else checks.check_uri(field, path)
    if not os.path.exists(path):
        raise ValueError(f"runtime_env[{field!r}]: {path!r} does not exist on this machine")
    if os.path.isfile(path) and path.endswith(_ARCHIVES):
        return _archive(path, send)
    if os.path.isfile(path) and not named:
        raise ValueError(f"runtime_env[{field!r}]: {path!r} is neither a folder nor one of {', '.join(_ARCHIVES)}")
    with tempfile.TemporaryFile() as file:
        name = f"_ray_pkg_{_pack(path, excludes, named, file)}.tar.gz"
        length = file.seek(0, os.SEEK_END)
        file.seek(0)
        send(name, file, length)
    return f"gcs://{name}"


def _archive(path: str, send: Upload) -> str:
    """Uploads an archive as it is."""
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
        length = file.tell()
        file.seek(0)
        ending = next(ending for ending in _ARCHIVES if path.endswith(ending))
        # Of a wheel, too: one that was built anew has its old name.
        name = f"_ray_pkg_{digest.hexdigest()[:32]}{ending}"
        send(name, file, length)
    return f"gcs://{name}"


def _pack(path: str, excludes: Sequence[str], named: bool, out: IO[bytes]) -> str:
    """Writes a folder as a compressed tar, and returns the hash of what it holds."""
    usual = os.environ.get(_EXCLUDED_VARIABLE, _EXCLUDED)
    patterns = [*filter(None, map(str.strip, usual.split(","))), *excludes]
    command = [os.environ.get("EAGLERAY_BIN") or node.BINARY, "pack-folder", f"--path={os.path.abspath(path)}"]
    command += [f"--excludes={json.dumps(patterns)}"] + ["--named"] * named
    command += ["--no-gitignore"] * (os.environ.get(_NO_GITIGNORE_VARIABLE) == "1")
    digest = hashlib.sha256()
    with tempfile.TemporaryFile() as errors:
        packing = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        assert packing.stdout is not None
        with packing, gzip.GzipFile(fileobj=out, mode="wb", compresslevel=3, mtime=0) as packed:
            while piece := packing.stdout.read(_PIECE):
                digest.update(piece)
                packed.write(piece)
        if packing.returncode:
            errors.seek(0)
            raise ValueError(errors.read(4096).decode(errors="replace").strip().removeprefix("eagleray: pack-folder: "))
    return digest.hexdigest()[:32]
