"""How often work runs that crashes or raises, by every way of saying how often it may."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from casebook import case, own_session

LIMIT = 120


class Counts:
    """Starts work that counts its runs, and tells how often each ran and how it ended."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.folder = tempfile.mkdtemp()
        self.started: list[tuple[str, str, Any]] = []

    def path(self) -> str:
        """A file that a run adds a byte to."""
        return f"{self.folder}/{len(self.started)}"

    def task(self, label: str, body: Callable[[int], Any], **options: Any) -> None:
        """Submits a function that counts and then does `body`, which is told the number of the run."""
        function = self.ray.remote(**options)(counting) if options else self.ray.remote(counting)
        self.add(label, lambda path: function.remote(path, body))

    def add(self, label: str, start: Callable[[str], Any]) -> None:
        """The same for work that `start` starts; it is given the file."""
        path = self.path()
        self.started.append((label, path, start(path)))

    def tell(self) -> None:
        """Prints what became of each."""
        for label, path, ref in self.started:
            if isinstance(ref, list):
                ended = " ".join(how(self.ray, one) for one in ref)
            else:
                ended = how(self.ray, ref)
            print(f"{label}: {runs(path)} runs, {ended}")


def how(ray: Any, ref: Any) -> str:
    """The value of a reference, or the kind of exception."""
    try:
        return repr(ray.get(ref, timeout=LIMIT))
    except Exception as error:
        cause = getattr(error, "cause", None)
        return type(error).__name__ + (f" of {type(cause).__name__}" if cause is not None else "")


def runs(path: str) -> int:
    """How often the file was written to."""
    return os.path.getsize(path) if os.path.exists(path) else 0


def note(path: str) -> int:
    """Adds to the count; returns the number of this run, from 1."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, b"x")
    os.close(file)
    return os.path.getsize(path)


def counting(path: str, body: Callable[[int], Any]) -> Any:
    """What runs."""
    return body(note(path))


def kill(_: int) -> None:
    """The process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def leave(_: int) -> None:
    """The process ends without a word."""
    os._exit(1)


def fail(_: int) -> None:
    """A plain exception."""
    raise ValueError("no")


def until(number: int, body: Callable[[int], Any]) -> Callable[[int], str]:
    """`body` until the run with this number, which returns."""
    return lambda run: body(run) if run < number else f"run {run}"


def mixed(text: str) -> Callable[[int], str]:
    """By the letter of the run: c crashes, e raises; after the last one it returns."""

    def body(run: int) -> str:
        if run > len(text):
            return "done"
        return kill(run) if text[run - 1] == "c" else fail(run)  # type: ignore[return-value,func-returns-value]

    return body


@case
def how_often_after_crashes(ray: Any) -> None:
    counts = Counts(ray)
    counts.task("default", kill)
    for retries in (0, 1, 3):
        counts.task(f"max_retries={retries}", kill, max_retries=retries)
    counts.task("max_retries=-1", until(6, leave), max_retries=-1)
    counts.task("the last one is good", until(3, leave), max_retries=2)
    counts.tell()


@case
def which_ends_are_crashes(ray: Any) -> None:
    def segfault(_: int) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def terminated(_: int) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(20)

    def exit_with(code: Any) -> Callable[[int], Any]:
        return lambda _: sys.exit(code)

    counts = Counts(ray)
    counts.task("SIGSEGV", segfault, max_retries=1)
    counts.task("SIGTERM", terminated, max_retries=1)
    counts.task("abort", lambda _: os.abort(), max_retries=1)
    counts.task("os._exit(0)", lambda _: os._exit(0), max_retries=1)
    counts.task("os._exit(1)", leave, max_retries=1)
    counts.task("sys.exit()", exit_with(None), max_retries=1)
    counts.task("sys.exit(0)", exit_with(0), max_retries=1)
    counts.task("sys.exit(3)", exit_with(3), max_retries=1)
    counts.task("sys.exit(text)", exit_with("text"), max_retries=1)
    counts.tell()


@case
def which_ends_are_exceptions(ray: Any) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    def leaves_the_actor(_: int) -> None:
        ray.actor.exit_actor()

    def raises(kind: type[BaseException]) -> Callable[[int], Any]:
        def body(_: int) -> None:
            raise kind("no")

        return body

    counts = Counts(ray)
    counts.task("ValueError", fail, max_retries=1)
    counts.task("exit_actor", leaves_the_actor, max_retries=1)
    counts.task("exit_actor, retried", leaves_the_actor, max_retries=1, retry_exceptions=True)
    counts.task("KeyboardInterrupt", interrupted, max_retries=1)
    counts.task("KeyboardInterrupt, retried", interrupted, max_retries=1, retry_exceptions=True)
    counts.task("Exception", raises(Exception), max_retries=1)
    counts.task("BaseException", raises(BaseException), max_retries=1)
    counts.task("BaseException, retried", raises(BaseException), max_retries=1, retry_exceptions=True)
    counts.task("GeneratorExit, retried", raises(GeneratorExit), max_retries=1, retry_exceptions=True)
    counts.task("CancelledError, retried", raises(asyncio.CancelledError), max_retries=1, retry_exceptions=True)
    counts.task("sys.exit, retried", lambda _: sys.exit(1), max_retries=1, retry_exceptions=True)
    counts.task("own kind", raises(Special), max_retries=1, retry_exceptions=[Special])
    counts.tell()


class Special(LookupError):
    """An exception of the program's own."""


@case
def which_exceptions_are_retried(ray: Any) -> None:
    def key(_: int) -> None:
        raise KeyError("no")

    def dual(_: int) -> None:
        ray.get(ray.remote(max_retries=0)(fail).remote(0))

    counts = Counts(ray)
    counts.task("not asked for", fail)
    counts.task("True", fail, retry_exceptions=True)
    counts.task("True, twice", fail, retry_exceptions=True, max_retries=2)
    counts.task("True, never", fail, retry_exceptions=True, max_retries=0)
    counts.task("True, for ever", until(6, fail), retry_exceptions=True, max_retries=-1)
    counts.task("False", fail, retry_exceptions=False)
    counts.task("its class", fail, retry_exceptions=[ValueError], max_retries=1)
    counts.task("another class", fail, retry_exceptions=[KeyError], max_retries=1)
    counts.task("the base", key, retry_exceptions=[LookupError], max_retries=1)
    counts.task("a tuple", fail, retry_exceptions=(ValueError,), max_retries=1)
    counts.task("one of two", key, retry_exceptions=[ValueError, KeyError], max_retries=1)
    counts.task("an empty list", fail, retry_exceptions=[], max_retries=1)
    counts.task("another task's, by the cause", dual, retry_exceptions=[ValueError], max_retries=1)
    counts.task("another task's, by its own", dual, retry_exceptions=[ray.exceptions.RayTaskError], max_retries=1)
    counts.tell()


@case
def crashes_and_exceptions_share_a_budget(ray: Any) -> None:
    counts = Counts(ray)
    for text in ("ce", "cec", "ecec", "ccee", "eeec"):
        counts.task(text, mixed(text), max_retries=3, retry_exceptions=True)
    counts.task("c, not asked for", mixed("ccce"), max_retries=3)
    counts.task("ee, one retry", mixed("ee"), max_retries=1, retry_exceptions=True)
    counts.tell()


@case
def what_options_override(ray: Any) -> None:
    once = ray.remote(max_retries=1)(counting)
    raising = ray.remote(max_retries=1, retry_exceptions=True)(counting)
    counts = Counts(ray)
    counts.add("more", lambda path: once.options(max_retries=2).remote(path, kill))
    counts.add("none", lambda path: once.options(max_retries=0).remote(path, kill))
    counts.add("others are kept", lambda path: once.options(num_cpus=2).remote(path, kill))
    counts.add("as it was", lambda path: once.remote(path, kill))
    counts.add("no exceptions", lambda path: raising.options(retry_exceptions=False).remote(path, fail))
    counts.add("exceptions", lambda path: once.options(retry_exceptions=True).remote(path, fail))
    counts.add("a list", lambda path: raising.options(retry_exceptions=[KeyError]).remote(path, fail))
    counts.add("the number", lambda path: raising.options(max_retries=2).remote(path, fail))
    counts.tell()


@own_session
def the_default_by_the_environment(ray: Any) -> None:
    os.environ["RAY_TASK_MAX_RETRIES"] = "1"
    try:
        ray.init(num_cpus=2, log_to_driver=False)
        counts = Counts(ray)
        counts.task("default", kill)
        counts.task("stated", kill, max_retries=2)
        counts.tell()
    finally:
        del os.environ["RAY_TASK_MAX_RETRIES"]


class Unloadable:
    """Is pickled and cannot be unpickled."""

    def __init__(self, path: str = "") -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return unload, (self.path,)


def unload(path: str) -> None:
    """The other half of `Unloadable`."""
    if path:
        note(path)
    raise ValueError("not here")


@case
def what_fails_around_the_function(ray: Any) -> None:
    def lock(_: int) -> Any:
        return threading.Lock()

    def two(_: int) -> Any:
        return 1, 2

    def bad(_: int) -> Any:
        return Unloadable()

    def dying(_: int) -> Any:
        return Dying()

    counts = Counts(ray)
    counts.task("result not picklable", lock, max_retries=1, retry_exceptions=True)
    counts.task("wrong number of results", two, max_retries=1, retry_exceptions=True, num_returns=3)
    counts.task("result not loadable", bad, max_retries=1, retry_exceptions=True)
    counts.task("dies when it pickles its result", dying, max_retries=1)
    counts.task("a stream that fails at once", stream_of(0), max_retries=1, retry_exceptions=True, num_returns=2)
    counts.task("a stream that fails late", stream_of(1), max_retries=1, retry_exceptions=True, num_returns=2)
    function = ray.remote(max_retries=1, retry_exceptions=True)(counting)
    counts.add("argument not loadable", lambda path: function.remote(path, Unloadable(path)))
    held = ray.put(Unloadable(counts.path()))
    counts.add("object not loadable", lambda path: function.remote(path, held))
    failed = ray.remote(max_retries=0)(counting).remote(counts.path() + "x", fail)
    counts.add("argument failed", lambda path: function.remote(path, failed))
    counts.tell()


def stream_of(number: int) -> Callable[[int], Any]:
    """A function whose results come from a generator that fails after so many."""

    def values() -> Any:
        yield from range(number)
        raise ValueError("no more")

    return lambda _: values()


class Dying:
    """Kills who pickles it."""

    def __reduce__(self) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        return Dying, ()


@case
def several_results(ray: Any) -> None:
    def pair(run: int) -> Any:
        return (kill(run), 0) if run < 2 else (1, 2)  # type: ignore[func-returns-value]

    counts = Counts(ray)
    counts.task("a crash before", pair, num_returns=2)
    counts.task("always crashes", kill, num_returns=2, max_retries=1)
    counts.task("always raises", fail, num_returns=2, max_retries=1, retry_exceptions=True)
    counts.tell()


@case
def objects_of_a_crash_are_gone(ray: Any) -> None:
    def puts(run: int) -> Any:
        ref = ray.put(run)
        return [ref] if run == 2 else kill(run)  # type: ignore[func-returns-value]

    counts = Counts(ray)
    counts.task("puts and dies", puts)
    _, path, ref = counts.started[0]
    print("the second one's:", ray.get(ray.get(ref, timeout=LIMIT)[0], timeout=LIMIT), runs(path))


@case
def with_max_calls(ray: Any) -> None:
    counts = Counts(ray)
    counts.task("crashes", kill, max_calls=1, max_retries=1)
    counts.task("raises", fail, max_calls=1, max_retries=2, retry_exceptions=True)
    counts.task("a third works", until(3, fail), max_calls=2, max_retries=3, retry_exceptions=True)
    counts.tell()


@case
def a_function_that_travels(ray: Any) -> None:
    function = ray.remote(max_retries=1, retry_exceptions=[ValueError])(counting)
    counts = Counts(ray)
    counts.add("called by a task", lambda path: ray.get(ray.remote(lambda: [function.remote(path, fail)]).remote())[0])
    counts.tell()
