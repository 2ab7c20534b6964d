"""The part of ``ray._private.utils`` that programs and tests use."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eagleray._common.utils import binary_to_hex as binary_to_hex
from eagleray._common.utils import decode as decode
from eagleray._common.utils import get_default_ray_temp_dir as get_default_ray_temp_dir
from eagleray._common.utils import get_function_args as get_function_args
from eagleray._common.utils import get_or_create_event_loop as get_or_create_event_loop
from eagleray._common.utils import get_system_memory as get_system_memory
from eagleray._common.utils import hex_to_binary as hex_to_binary
from eagleray._common.utils import import_attr as import_attr
from eagleray._common.utils import load_class as load_class
from eagleray._common.utils import reset_ray_address as reset_ray_address
from eagleray._common.utils import run_background_task as run_background_task
from eagleray._common.utils import try_to_create_directory as try_to_create_directory

#: Older names of Ray's.
get_ray_temp_dir = get_default_ray_temp_dir
get_new_event_loop = asyncio.new_event_loop

_INDEXED = re.compile(r"(.+)_group_\d+_[0-9a-zA-Z]+")
_WILDCARD = re.compile(r"(.+)_group_[0-9a-zA-Z]+")


def ensure_str(s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Returns a text, or the text that bytes are."""
    return s if isinstance(s, str) else s.decode(encoding, errors)


def format_error_message(exception_message: str, task_exception: bool = False) -> str:
    """Returns the text of an exception for people.

    Args:
        exception_message: The text, as ``traceback.format_exc`` makes it.
        task_exception: Whether to leave out the two lines about the worker's own call.
    """
    lines = exception_message.split("\n")
    return "\n".join(lines[:1] + lines[3:] if task_exception else lines)


def push_error_to_driver(worker: Any, error_type: str, message: str, job_id: Any = None) -> None:
    """Has a message shown on the driver's standard error.

    Args:
        worker: Without a meaning here: this process is meant.
        error_type: A word for the kind of error, which stands in front of the message.
        message: The message.
        job_id: Without a meaning here: the job of this process is meant.
    """
    del worker, job_id
    print(f"{error_type}: {message}", file=sys.stderr, flush=True)


def get_num_cpus(override_docker_cpu_warning: bool = False, truncate: bool = True) -> float:
    """Returns how many processors this process may use.

    Args:
        override_docker_cpu_warning: Without a meaning here: there is no such warning.
        truncate: Without a meaning here: the number is whole.
    """
    del override_docker_cpu_warning, truncate
    return len(os.sched_getaffinity(0))


def is_main_thread() -> bool:
    """Returns whether the caller is on the main thread."""
    return threading.current_thread() is threading.main_thread()


def get_user() -> str:
    """Returns the user's name; the number of the user if it has none."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def validate_namespace(namespace: str) -> None:
    """Raises unless a value can be a namespace.

    Raises:
        TypeError: it is no text.
        ValueError: it is empty.
    """
    if not isinstance(namespace, str):
        raise TypeError(f"namespace must be None or a string, got {type(namespace).__name__}")
    if namespace == "":
        raise ValueError('"" is not a valid namespace. Pass None to not specify a namespace.')


def get_directory_size_bytes(path: str | os.PathLike[str] = ".") -> int:
    """Returns the bytes of all files in a folder and those below it. Links are not followed."""
    return sum(
        os.lstat(file).st_size
        for folder, _, names in os.walk(path)
        for file in (os.path.join(folder, name) for name in names)
        if not os.path.islink(file)
    )


def try_import_each_module(module_names_to_import: Sequence[str]) -> None:
    """Imports modules. The failure of one is printed, and the others are imported all the same."""
    for name in module_names_to_import:
        try:
            importlib.import_module(name)
        except Exception:
            traceback.print_exc()


def update_envs(env_vars: Mapping[str, str]) -> None:
    """Sets variables of this process's environment. A value may name others, as in ``$HOME/bin``.

    A variable that a value names and that is not set counts as empty.
    """
    for name, value in env_vars.items():
        os.environ[name] = re.sub(r"\$\{\w+\}|\$\w+", "", os.path.expandvars(value))


def parse_pg_formatted_resources_to_original(pg_formatted_resources: Mapping[str, float]) -> dict[str, float]:
    """Returns amounts under the names that a user knows, from amounts under the names that bundles give them.

    A resource stands there twice, with the number of its bundle and without; it counts once.
    """
    found: dict[str, float] = {}
    for name, amount in pg_formatted_resources.items():
        if match := _INDEXED.fullmatch(name) or _WILDCARD.fullmatch(name):
            name = match[1]
        if name != "bundle":
            found[name] = max(found.get(name, 0), amount)
    return found


@contextlib.contextmanager
def _defer_interrupt() -> Iterator[None]:
    import signal

    came: list[tuple[int, Any]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came and callable(before):
            before(*came[-1])


class DeferSigint:
    """Holds Ctrl-C back while a block of the main thread runs: ``with DeferSigint.create_if_main_thread(): …``."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    @classmethod
    def create_if_main_thread(cls) -> contextlib.AbstractContextManager[Any]:
        """Returns such a block on the main thread, and one that does nothing on others."""
        return cls() if is_main_thread() else contextlib.nullcontext()

    def __enter__(self) -> DeferSigint:
        self._held.enter_context(_defer_interrupt())
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.close()
