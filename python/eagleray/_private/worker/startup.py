"""What a freshly forked worker does before it takes work, and what a lease changes in it."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import random
import signal
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from eagleray._private.calls.environments import KEY_VARIABLE, USER_VARIABLE
from eagleray._private.context import enter_group, here
from eagleray._private.state import UNIT
from eagleray._private.worker import output, stacks

_BLAS_SETTERS = (
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
)
#: What work in a placement group holds beside its own resources; users do not see it.
_BUNDLE = "bundle"
_keep: list[Any] = []


def detach(fds: list[int]) -> None:
    """Cuts the ties with the zygote: descriptors, signals, name, arguments, random generators."""
    os.setsid()  # what a task leaves behind is found by its session
    for number, fd in enumerate(fds[:2], start=1):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    null = os.open(os.devnull, os.O_RDONLY)
    if null != 0:
        os.dup2(null, 0)
        os.close(null)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    faulthandler.enable()
    stacks.register()
    appear()
    reseed()
    try:
        with open("/proc/self/comm", "wb") as file:
            file.write(b"eagleray-worker")
    except OSError:
        pass
    _keep.append(sys.modules["__main__"])
    sys.modules["__main__"] = types.ModuleType("__main__")


def appear_in_ps(hot: Any) -> None:
    """Lets the core show in the process's command line what it runs, as Ray does: users find workers by that."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        hot.show_in(int(fields[45]), int(fields[46]))  # proc(5) counts them from 1 and has two more in front
    except (OSError, ValueError, IndexError):  # the zygote's command line stays
        return
    hot.show_as("IDLE")


def run_hooks() -> None:
    """Runs the hooks of the interpreter's start if the zygote was started without them."""
    if not sys.flags.no_site:
        return
    import site

    path = list(sys.path)
    try:
        site.main()
    except BaseException as problem:  # code of others; an interpreter that starts goes on as well
        print(f"a hook of the interpreter's start failed: {type(problem).__name__}: {problem}", file=sys.stderr)
    sys.path[:] = path + [entry for entry in sys.path if entry not in path]


def appear() -> None:
    """Makes the interpreter a worker's: outputs, arguments, variables."""
    output.install()
    # A handler, not SIG_IGN, which programs that tasks start would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.argv = ["eagleray-worker"]
    for name in (KEY_VARIABLE, USER_VARIABLE):
        os.environ.pop(name, None)


def reseed() -> None:
    """Gives this process random numbers of its own: a fork begins with copies of the zygote's generators."""
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


class Assigned:
    """The variables that the lease in force has set, and what they were before."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self._devices: tuple[tuple[str, str], ...] = ()
        self._before: dict[str, str | None] = {}
        self._threads_are_ours = "OMP_NUM_THREADS" not in os.environ
        self._blas: Callable[[int], None] | None = None
        self._blas_threads = 1  # the zygote imported libraries with one
        if not self._threads_are_ours:
            self._size_blas(os.environ.get("OPENBLAS_NUM_THREADS") or os.environ["OMP_NUM_THREADS"])

    def apply(self, assignment: Mapping[str, Any]) -> None:
        """Makes this process see what it was given."""
        here.resources = assignment.get("resources") or {}
        here.resources.pop(_BUNDLE, None)
        here.devices = assignment.get("devices") or {}
        here.int_ids = bool(assignment.get("int_ids", True))
        enter_group(assignment.get("strategy") or "")
        variables = dict(assignment.get("env") or {})
        self._devices = tuple(variables.items())
        if self._threads_are_ours:
            threads = max(1, here.resources.get("CPU", 0) // UNIT)
            variables["OMP_NUM_THREADS"] = str(threads)
            if "OPENBLAS_NUM_THREADS" not in os.environ:
                self._size_blas(str(threads))
        for name in self._variables.keys() - variables.keys():
            previous = self._before.pop(name)
            if previous is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = previous
        for name in variables:
            if name not in self._before:
                self._before[name] = os.environ.get(name)
        self._variables = variables
        os.environ.update(variables)

    def restore(self) -> None:
        """Shows and hides devices again: an earlier task of the lease may have changed the variables.

        They are set whatever they are: a task may have changed what C libraries read and not ``os.environ``.
        """
        for name, text in self._devices:
            os.environ[name] = text

    @property
    def shows_devices(self) -> bool:
        """Whether the lease shows or hides devices, which ``restore`` does again before each task."""
        return bool(self._devices)

    def _size_blas(self, text: str) -> None:
        """Gives a BLAS library that was loaded with one thread as many as the task has CPUs."""
        try:
            threads = int(text.split(",")[0])
        except ValueError:
            return
        if threads == self._blas_threads:
            return
        self._blas_threads = threads
        if "numpy" in sys.modules:  # else it will read the variable
            if self._blas is None:
                self._blas = _find_blas()
            self._blas(threads)


def _find_blas() -> Callable[[int], None]:
    paths = set()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            if "openblas" in line:
                paths.add(line.split(None, 5)[-1].strip())
    for path in paths:
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in _BLAS_SETTERS:
            setter = getattr(library, name, None)
            if setter is not None:
                setter.argtypes, setter.restype = [ctypes.c_int], None
                found: Callable[[int], None] = setter
                return found
    return lambda threads: None
