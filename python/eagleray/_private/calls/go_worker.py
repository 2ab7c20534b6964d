"""Go worker programs: the environment of their workers, and how their functions and actors are named."""

from __future__ import annotations

import os
import shutil
from _blake2 import blake2b  # what hashlib gives, without loading OpenSSL
from collections.abc import Mapping
from typing import Any

from eagleray._private.calls import environments
from eagleray._private.functions import FID_SIZE, GO_CODE
from eagleray._private.state import Session

_LONGEST_NAME = 1 << 10

#: The variable that marks the environment, and what its zygote finds there: ``core/gofunction.go`` has the same.
_MARK = "EAGLERAY_GO_WORKER"
_PYTHON = "EAGLERAY_GO_PYTHON"
_BUILD = "EAGLERAY_GO_BUILD"


def code_of(name: str) -> tuple[bytes, bytes]:
    """Returns the id and the bytes of what a Go program has registered under a name.

    Raises:
        TypeError, ValueError: it is no name.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a Go function or actor is a str, not {type(name).__name__}: {name!r:.100}")
    encoded = name.encode()
    if not encoded or len(encoded) > _LONGEST_NAME:
        raise ValueError(
            f"the name of a Go function or actor has from 1 to {_LONGEST_NAME} bytes, and this one has {len(encoded)}"
        )
    blob = GO_CODE + encoded
    return blake2b(blob, digest_size=FID_SIZE).digest(), blob


def program_path(worker: str | os.PathLike[str]) -> str:
    """Returns the absolute path of a program of this machine, without symbolic links.

    Raises:
        TypeError, ValueError: it is no path, or no program.
    """
    if not isinstance(worker, (str, os.PathLike)):
        raise TypeError(f"worker= is the path of a Go program, not {type(worker).__name__}: {worker!r:.100}")
    path = os.fspath(worker)
    if not path:
        raise ValueError("worker= is the path of a Go program, and it is empty")
    if os.sep not in path:
        found = shutil.which(path)
        if found is None and not os.path.exists(path):
            raise ValueError(
                f"the Go worker program {path!r} is neither in this folder nor in those of PATH: give its path"
            )
        path = found or path
    path = os.path.realpath(path)
    if not os.path.isfile(path):
        raise ValueError(f"the Go worker program {os.fspath(worker)!r} is no file of this machine")
    if not os.access(path, os.X_OK):
        raise ValueError(f"the Go worker program {os.fspath(worker)!r} is not executable: is it what `go build` made?")
    return path


def key_for(session: Session, runtime_env: Mapping[str, Any] | None, program: str) -> str:
    """Returns the key of the environment whose workers are processes of a Go program. The daemon is told of it.

    Args:
        session: The session.
        runtime_env: The ``runtime_env`` of the function or actor.
        program: The path of the program.
    """
    found = os.stat(program)
    return environments.key_of_program(
        session,
        runtime_env,
        program,
        {_MARK: "zygote", _BUILD: f"{found.st_size} {found.st_mtime_ns}"},
        _PYTHON,
    )


def check_runtime_env(runtime_env: Mapping[str, Any] | None) -> None:
    """Raises if a ``runtime_env`` has what only Python workers can have."""
    for field in runtime_env or {}:
        if field not in ("env_vars", "working_dir", "excludes", "config"):
            raise ValueError(
                f"runtime_env field {field!r} is for workers that run Python, and those of a Go program do not: "
                "env_vars and working_dir are for both"
            )
