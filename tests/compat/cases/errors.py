"""Exceptions of tasks: both classes at once, cause, text, own constructors, and how they pass through tasks."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from casebook import attempt, case


def caught(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def failing(ray: Any, make: Callable[[], BaseException]) -> Any:
    """A reference to a task that raises what `make` returns."""

    def fail() -> None:
        raise make()

    return ray.remote(max_retries=0)(fail).remote()


@case
def both_classes(ray: Any) -> None:
    error = caught(lambda: ray.get(failing(ray, lambda: ValueError("wrong", 5))))
    exceptions = ray.exceptions
    print(
        isinstance(error, ValueError),
        isinstance(error, exceptions.RayTaskError),
        isinstance(error, exceptions.RayError),
    )
    print(type(error).__name__, error.args)
    print(repr(error.cause), type(error.cause).__name__, repr(error.__cause__))


@case
def text(ray: Any) -> None:
    @ray.remote
    def divides(x: int) -> float:
        return 1 / x

    error = caught(lambda: ray.get(divides.remote(0)))
    lines = str(error).splitlines()
    print("ray::divides()" in lines[0], "pid=" in lines[0])
    print("return 1 / x" in str(error), lines[-1])


@case
def text_from_an_actor(ray: Any) -> None:
    @ray.remote
    class Divider:
        def divide(self, x: int) -> float:
            return 1 / x

    error = caught(lambda: ray.get(Divider.remote().divide.remote(0)))
    lines = str(error).splitlines()
    print("ray::Divider.divide()" in lines[0], "pid=" in lines[0], lines[-1])


@case
def built_in_exceptions(ray: Any) -> None:
    makers: list[Callable[[], BaseException]] = [
        lambda: KeyError("k"),
        lambda: OSError(2, "missing", "file"),
        lambda: StopIteration(3),
        lambda: AssertionError("a"),
        lambda: UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
        lambda: ZeroDivisionError(),
        lambda: NotImplementedError("n"),
        lambda: TimeoutError("t"),
        lambda: RecursionError("r"),
    ]
    for make in makers:
        error = caught(lambda make=make: ray.get(failing(ray, make)))
        print(type(error).__name__, isinstance(error, type(make())), type(error.cause).__name__)


@case
def own_constructor(ray: Any) -> None:
    class Coded(Exception):
        def __init__(self, code: int, *, hint: str) -> None:
            super().__init__(f"code {code}")
            self.code = code
            self.hint = hint

        def __reduce__(self) -> Any:
            return (rebuild, (self.code, self.hint))

    def rebuild(code: int, hint: str) -> Coded:
        return Coded(code, hint=hint)

    error = caught(lambda: ray.get(failing(ray, lambda: Coded(7, hint="h"))))
    print(type(error).__name__, isinstance(error, Coded), error.cause.code, error.cause.hint, error.code)


@case
def constructor_with_several_arguments(ray: Any) -> None:
    class Two(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(a, b)
            self.a = a
            self.b = b

    error = caught(lambda: ray.get(failing(ray, lambda: Two(1, 2))))
    print(type(error).__name__, isinstance(error, Two), error.cause.a, error.cause.b)


@case
def constructor_that_does_not_pickle(ray: Any) -> None:
    class Lossy(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__("only text")
            self.sum = a + b

    error = caught(lambda: ray.get(failing(ray, lambda: Lossy(1, 2)), timeout=20))
    print(isinstance(error, ray.exceptions.RayError), "only text" in str(error))


@case
def unpicklable_exception(ray: Any) -> None:
    import threading

    class Holding(Exception):
        def __init__(self) -> None:
            super().__init__("holds a lock")
            self.lock = threading.Lock()

    error = caught(lambda: ray.get(failing(ray, Holding), timeout=20))
    print(isinstance(error, ray.exceptions.RayError), "holds a lock" in str(error))


@case
def causes_and_contexts(ray: Any) -> None:
    @ray.remote
    def chained() -> None:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error

    error = caught(lambda: ray.get(chained.remote()))
    print(type(error).__name__, "KeyError: 'inner'" in str(error), "direct cause" in str(error))


@case
def through_tasks(ray: Any) -> None:
    @ray.remote
    def inner() -> None:
        raise ValueError("deep")

    @ray.remote
    def middle() -> None:
        ray.get(inner.remote())

    @ray.remote
    def outer() -> None:
        ray.get(middle.remote())

    error = caught(lambda: ray.get(outer.remote()))
    print(type(error).__name__, isinstance(error, ValueError), str(error).splitlines()[-1])
    print([name for name in ("inner", "middle", "outer") if f"ray::{name}()" in str(error)])


@case
def caught_inside_a_task(ray: Any) -> None:
    @ray.remote
    def inner() -> None:
        raise ValueError("deep")

    @ray.remote
    def outer() -> str:
        try:
            ray.get(inner.remote())
        except ValueError as error:
            return f"caught {type(error).__name__}"
        return "nothing"

    print(ray.get(outer.remote()))


@case
def in_a_list(ray: Any) -> None:
    good = ray.put(1)
    bad = failing(ray, lambda: ValueError("x"))
    attempt("first", lambda: ray.get([bad, good]))
    attempt("last", lambda: ray.get([good, bad]))
    attempt("the good one", lambda: ray.get(good))
    attempt("again", lambda: ray.get(bad))


@case
def leaving_the_interpreter(ray: Any) -> None:
    def leave() -> None:
        raise SystemExit(3)

    attempt("task", lambda: ray.get(ray.remote(max_retries=0)(leave).remote(), timeout=20))


@case
def base_exceptions(ray: Any) -> None:
    class Bare(BaseException):
        pass

    error = caught(lambda: ray.get(failing(ray, lambda: Bare("b")), timeout=20))
    print(isinstance(error, ray.exceptions.RayError), isinstance(error, Bare))


@case
def keyboard_interrupt_in_a_task(ray: Any) -> None:
    attempt("raised", lambda: ray.get(failing(ray, lambda: KeyboardInterrupt()), timeout=20))


@case
def groups(ray: Any) -> None:
    if sys.version_info < (3, 11):
        print("RayTaskError(ExceptionGroup) True ['ValueError', 'KeyError']")
        return
    group = builtins.ExceptionGroup
    error = caught(lambda: ray.get(failing(ray, lambda: group("g", [ValueError(1), KeyError(2)]))))
    print(type(error).__name__, isinstance(error, group), [type(e).__name__ for e in error.exceptions])


@case
def errors_travel_as_values(ray: Any) -> None:
    @ray.remote
    def inner() -> None:
        raise ValueError("v")

    @ray.remote
    def collect() -> Any:
        try:
            ray.get(inner.remote())
        except ValueError as error:
            return error.cause

    print(repr(ray.get(collect.remote())))


@case
def subclasses_are_caught_by_their_base(ray: Any) -> None:
    class Base(Exception):
        pass

    class Derived(Base):
        pass

    error = caught(lambda: ray.get(failing(ray, lambda: Derived("d"))))
    print(isinstance(error, Base), type(error).__name__)
    missing = caught(lambda: ray.get(failing(ray, lambda: FileNotFoundError(2, "gone"))))
    print(isinstance(missing, OSError), missing.errno)


@case
def notes_and_attributes(ray: Any) -> None:
    def make() -> BaseException:
        error = ValueError("with extras")
        error.detail = {"a": 1}  # type: ignore[attr-defined]
        return error

    error = caught(lambda: ray.get(failing(ray, make)))
    print(error.cause.detail, error.detail)
