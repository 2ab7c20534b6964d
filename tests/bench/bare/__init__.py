"""What the machine can do with nothing around it: the C that the limits of the table are measured with.

The sources beside this file are compiled when they are first used, into `build/bare`.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUILT = HERE.parents[2] / "build" / "bare"
FLAGS = ["-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-pthread"]


def built(name: str) -> Path:
    """The shared object of `NAME.c`, compiled unless one of the same source and interpreter is there."""
    source = HERE / f"{name}.c"
    tag = hashlib.sha256(source.read_bytes() + repr((FLAGS, sys.version)).encode()).hexdigest()[:12]
    target = BUILT / tag / f"{name}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        mine = target.with_suffix(f".{os.getpid()}")  # another process may be compiling as well
        include = f"-I{sysconfig.get_path('include')}"
        subprocess.run([os.environ.get("CC", "gcc"), *FLAGS, include, str(source), "-o", str(mine)], check=True)
        mine.rename(target)
    return target


@cache
def extension(name: str) -> Any:
    """`NAME.c` as a module of Python."""
    loader = importlib.machinery.ExtensionFileLoader(name, str(built(name)))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@cache
def library(name: str) -> ctypes.CDLL:
    """`NAME.c` as a library; the interpreter is released during its calls."""
    return ctypes.CDLL(str(built(name)), use_errno=True)
