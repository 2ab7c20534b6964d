"""Small functions of ``ray._common.utils`` that programs and tests use."""

from __future__ import annotations

import asyncio
import importlib
import os
import random
import string
import tempfile
from collections.abc import Coroutine
from typing import Any

from eagleray._private.ray_constants import RESOURCE_CONSTRAINT_PREFIX as RESOURCE_CONSTRAINT_PREFIX
from eagleray._private.ray_constants import env_bool as env_bool
from eagleray._private.ray_constants import env_float as env_float
from eagleray._private.ray_constants import env_integer as env_integer
from eagleray._private.session.node import base_dir

PLACEMENT_GROUP_BUNDLE_RESOURCE_NAME = "bundle"
#: Tasks of event loops that nobody else holds, until they are done.
_running: set[asyncio.Task[Any]] = set()


def import_module_and_attr(full_path: str, *, reload_module: bool = False) -> tuple[Any, Any]:
    """Returns a module and one of its attributes.

    Args:
        full_path: ``package.module.attribute`` or ``package.module:attribute``.
        reload_module: Whether the module is loaded anew.

    Raises:
        TypeError: the path is no text.
        ValueError: the path has no attribute, or more than one colon.
    """
    if not isinstance(full_path, str):
        raise TypeError(f"the import path must be a string, got {type(full_path).__name__}")
    module_name, colon, name = full_path.partition(":")
    if not colon:
        module_name, _, name = full_path.rpartition(".")
    if ":" in name:
        raise ValueError(f"the import path {full_path!r} has more than one colon: write package.module:attribute")
    if not module_name or not name:
        raise ValueError(f"the import path {full_path!r} names no attribute: write package.module.attribute")
    module = importlib.import_module(module_name)
    if reload_module:
        module = importlib.reload(module)
    return module, getattr(module, name)


def import_attr(full_path: str, *, reload_module: bool = False) -> Any:
    """Returns the attribute that ``package.module.attribute`` or ``package.module:attribute`` names."""
    return import_module_and_attr(full_path, reload_module=reload_module)[1]


def load_class(path: str) -> Any:
    """Returns the attribute that ``package.module.attribute`` names.

    Raises:
        ValueError: the path has no dot.
    """
    if "." not in path:
        raise ValueError(f"{path!r} names no class: write package.module.Class")
    return import_attr(path)


def get_or_create_event_loop() -> asyncio.AbstractEventLoop:
    """Returns the running event loop, else the thread's own one, which is made if it has none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        pass
    policy = asyncio.get_event_loop_policy()
    try:
        import warnings

        with warnings.catch_warnings():  # of Python 3.12, when the thread has none
            warnings.simplefilter("ignore", DeprecationWarning)
            return policy.get_event_loop()
    except RuntimeError:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        return loop


def run_background_task(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Starts a coroutine on the event loop, and holds its task until it is done."""
    task = get_or_create_event_loop().create_task(coroutine)
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


def get_random_alphanumeric_string(length: int) -> str:
    """Returns that many small letters and digits by chance."""
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=length))


def binary_to_hex(identifier: bytes) -> str:
    """Returns bytes as hexadecimal digits."""
    return identifier.hex()


def hex_to_binary(hex_identifier: str) -> bytes:
    """Returns the bytes that hexadecimal digits name."""
    return bytes.fromhex(hex_identifier)


def decode(byte_str: Any, allow_none: bool = False, encode_type: str = "utf-8") -> str:
    """Returns bytes as a text.

    Raises:
        ValueError: the value is neither bytes nor None with ``allow_none``, which gives an empty text.
    """
    if byte_str is None and allow_none:
        return ""
    if not isinstance(byte_str, bytes):
        raise ValueError(f"The argument {byte_str!r} must be a bytes object.")
    return byte_str.decode(encode_type)


def get_function_args(callable: Any) -> list[str]:
    """Returns the names of a function's parameters."""
    import inspect

    return list(inspect.signature(callable).parameters)


def get_system_memory(
    memory_limit_filename: str = "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    memory_limit_filename_v2: str = "/sys/fs/cgroup/memory.max",
) -> int:
    """Returns the bytes of memory that this machine has, or the limit of its container if that is less.

    Args:
        memory_limit_filename: Where version 1 of control groups has the limit.
        memory_limit_filename_v2: Where version 2 has it.
    """
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in (memory_limit_filename, memory_limit_filename_v2):
        try:
            with open(path, encoding="ascii") as file:
                return min(found, int(file.read()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return found


def get_default_system_temp_dir() -> str:
    """Returns the folder for temporary files: that of RAY_TMPDIR, else the usual one."""
    return os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()


def get_default_ray_temp_dir() -> str:
    """Returns the folder of this user's sessions."""
    return base_dir()


def try_to_create_directory(directory_path: str) -> None:
    """Makes a folder and those above it, unless it is there."""
    os.makedirs(os.path.expanduser(directory_path), exist_ok=True)


def reset_ray_address(temp_dir: str | None = None) -> None:
    """Does nothing: no file names the cluster that a program joined last. Ray's tests call this between sessions.

    Args:
        temp_dir: The folder in which Ray keeps that file.
    """
