"""Failures: what is raised, which class it has, what it says, and what goes on afterwards."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from typing import Any

from casebook import attempt, case, eventually


def caught(call: Any) -> BaseException:
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@case
def the_traceback_in_the_text(ray: Any) -> None:
    @ray.remote
    def inner() -> None:
        raise ValueError("deep inside")

    @ray.remote
    def outer() -> None:
        ray.get(inner.remote())

    text = str(caught(lambda: ray.get(outer.remote())))
    print(text.count("ValueError: deep inside"), "ray::outer()" in text, text.splitlines()[-1])
    print("Traceback" in text, 'raise ValueError("deep inside")' in text, "in inner" in text, "in outer" in text)


@case
def exceptions_with_odd_texts(ray: Any) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    class BrokenRepr(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    class Empty(Exception):
        pass

    def fail(kind: Any, *args: Any) -> Any:
        def run() -> None:
            raise kind(*args)

        return ray.remote(max_retries=0)(run).remote()

    for kind in (BrokenRepr, Empty):
        error = caught(lambda kind=kind: ray.get(fail(kind), timeout=20))
        print(isinstance(error, ray.exceptions.RayError), isinstance(error, kind))
    error = caught(lambda: ray.get(fail(ValueError, "ünï \U0001f600\nsecond line")))
    print(str(error).splitlines()[-2:], error.args[0].args)
    error = caught(lambda: ray.get(fail(ValueError, "x" * 100_000)))
    print(len(str(error)) > 100_000, isinstance(error, ValueError))


@case
def attributes_of_the_cause(ray: Any) -> None:
    class Coded(Exception):
        code = 3

        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.extra = {"a": 1}

        def describe(self) -> str:
            return f"{self.args[0]} {self.code}"

    def fail() -> None:
        raise Coded("c")

    error = caught(lambda: ray.get(ray.remote(fail).remote()))
    print(error.extra, error.code, error.cause.describe(), type(error).__name__, isinstance(error, Coded))
    print(error.__cause__ is error.cause or error.__cause__ is None)


@case
def bases_of_exceptions(ray: Any) -> None:
    x = ray.exceptions
    names = [
        "RayError",
        "RayTaskError",
        "RayActorError",
        "ActorDiedError",
        "ActorUnavailableError",
        "GetTimeoutError",
        "TaskCancelledError",
        "WorkerCrashedError",
        "ObjectLostError",
        "OwnerDiedError",
        "ObjectStoreFullError",
        "OutOfMemoryError",
        "NodeDiedError",
        "RuntimeEnvSetupError",
        "PendingCallsLimitExceeded",
        "TaskUnschedulableError",
        "ActorUnschedulableError",
        "LocalRayletDiedError",
        "RaySystemError",
        "ObjectReconstructionFailedError",
        "ObjectFreedError",
        "ObjectFetchTimedOutError",
        "OutOfDiskError",
        "AsyncioActorExit",
        "TaskPlacementGroupRemoved",
        "CrossLanguageError",
        "UserCodeException",
        "UnserializableException",
        "ReferenceCountingAssertionError",
        "ActorAlreadyExistsError",
        "ActorHandleNotFoundError",
        "OufOfBandObjectRefSerializationException",
    ]
    for name in names:
        kind = getattr(x, name, None)
        print(
            name,
            kind
            and [
                base.__name__ for base in kind.__mro__[1:] if base is not object and not base.__name__.startswith("_")
            ],
        )


@case
def exceptions_can_be_made_and_pickled(ray: Any) -> None:
    import pickle

    x = ray.exceptions
    for make in (
        lambda: x.RayError("a"),
        lambda: x.GetTimeoutError("late"),
        lambda: x.WorkerCrashedError(),
        lambda: x.RayActorError(),
        lambda: x.ObjectStoreFullError("full"),
        lambda: x.OutOfMemoryError("oom"),
        lambda: x.NodeDiedError("gone"),
        lambda: x.TaskCancelledError(),
        lambda: x.RuntimeEnvSetupError("no"),
        lambda: x.PendingCallsLimitExceeded("many"),
        lambda: x.TaskUnschedulableError("no"),
        lambda: x.ActorUnschedulableError("no"),
        lambda: x.RaySystemError("s"),
        lambda: x.ActorDiedError(),
        lambda: x.ActorUnavailableError("u", b"1" * 16),
        lambda: x.LocalRayletDiedError(),
        lambda: x.OutOfDiskError("d"),
        lambda: x.TaskPlacementGroupRemoved(),
        lambda: x.ActorPlacementGroupRemoved(),
        lambda: x.AsyncioActorExit(),
        lambda: x.ObjectLostError("00" * 28, None, ""),
        lambda: x.OwnerDiedError("00" * 28, None, ""),
        lambda: x.ObjectFreedError("00" * 28, None, ""),
        lambda: x.RayTaskError("f", "tb", ValueError("v")),
        lambda: x.UserCodeException("u"),
        lambda: x.ObjectReconstructionFailedError("00" * 28, None, None, None, ""),
    ):
        error = caught(lambda make=make: (_ for _ in ()).throw(make()))
        back = pickle.loads(pickle.dumps(error))
        print(type(error).__name__, type(back) is type(error), str(back) == str(error))


@case
def raised_by_a_task_itself(ray: Any) -> None:
    x = ray.exceptions
    for kind, args in (
        (x.RayError, ("e",)),
        (x.GetTimeoutError, ("t",)),
        (x.WorkerCrashedError, ()),
        (x.TaskCancelledError, ()),
        (x.RaySystemError, ("s",)),
    ):

        def fail(kind: Any = kind, args: Any = args) -> None:
            raise kind(*args)

        error = caught(lambda fail=fail: ray.get(ray.remote(max_retries=0)(fail).remote()))
        print(kind.__name__, type(error).__name__, isinstance(error, kind), isinstance(error, x.RayTaskError))


@case
def a_time_out_inside_a_task(ray: Any) -> None:
    @ray.remote
    def outer() -> Any:
        try:
            ray.get(ray.remote(lambda: time.sleep(0.5)).remote(), timeout=0.01)
        except ray.exceptions.GetTimeoutError as error:
            return isinstance(error, TimeoutError)

    @ray.remote(max_retries=0)
    def not_caught() -> Any:
        ray.get(ray.remote(lambda: time.sleep(0.5)).remote(), timeout=0.01)

    print(ray.get(outer.remote()))
    error = caught(lambda: ray.get(not_caught.remote()))
    print(type(error).__name__, isinstance(error, ray.exceptions.GetTimeoutError), isinstance(error, TimeoutError))


@case
def raising_classes_and_from_none(ray: Any) -> None:
    @ray.remote
    def klass() -> None:
        raise ValueError

    @ray.remote
    def from_none() -> None:
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError:
            raise ValueError("clean") from None

    @ray.remote
    def context() -> None:
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError:
            raise ValueError("dirty")  # noqa: B904

    print(type(caught(lambda: ray.get(klass.remote()))).__name__)
    print("ZeroDivisionError" in str(caught(lambda: ray.get(from_none.remote()))))
    print("ZeroDivisionError" in str(caught(lambda: ray.get(context.remote()))))


@case
def error_inside_get_of_many(ray: Any) -> None:
    def maybe(i: int) -> int:
        if i == 3:
            raise IndexError(i)
        return i

    refs = [ray.remote(maybe).remote(i) for i in range(6)]
    attempt("all", lambda: ray.get(refs))
    good = []
    for ref in refs:
        try:
            good.append(ray.get(ref))
        except IndexError as error:
            good.append(type(error).__name__)
    print(good)


@case
def errors_of_dependants(ray: Any) -> None:
    def fail() -> None:
        raise ValueError("root")

    def use(*xs: Any) -> int:
        return 1

    bad = ray.remote(fail).remote()
    error = caught(lambda: ray.get(ray.remote(use).remote(1, bad)))
    print(type(error).__name__, isinstance(error, ValueError), "root" in str(error))
    third = ray.remote(use).remote(ray.remote(use).remote(bad))
    print(isinstance(caught(lambda: ray.get(third)), ValueError))
    nested = ray.remote(lambda box: type(caught(lambda: ray.get(box[0]))).__name__)
    print(ray.get(nested.remote([bad])))

    @ray.remote
    class A:
        def __init__(self, x: Any) -> None:
            self.x = x

        def get(self) -> Any:
            return self.x

    a = A.remote(bad)
    error = caught(lambda: ray.get(a.get.remote(), timeout=20))
    print(isinstance(error, ray.exceptions.RayActorError) or isinstance(error, ValueError), "root" in str(error))


@case
def failing_constructors(ray: Any) -> None:
    @ray.remote
    class A:
        def __init__(self) -> None:
            raise ValueError("no actor")

        def get(self) -> int:
            return 1

    a = A.remote()
    error = caught(lambda: ray.get(a.get.remote(), timeout=20))
    print(
        type(error).__name__,
        isinstance(error, ray.exceptions.RayActorError),
        "no actor" in str(error),
        error.actor_id == a._actor_id.hex() if hasattr(a, "_actor_id") else True,
    )
    error = caught(lambda: ray.get(a.get.remote(), timeout=20))
    print(type(error).__name__, "no actor" in str(error))


@case
def constructors_that_exit(ray: Any) -> None:
    @ray.remote
    class A:
        def __init__(self, how: str) -> None:
            if how == "exit":
                sys.exit(3)
            if how == "_exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL)

        def get(self) -> int:
            return 1

    for how in ("exit", "_exit", "kill"):
        error = caught(lambda how=how: ray.get(A.remote(how).get.remote(), timeout=30))
        print(how, isinstance(error, ray.exceptions.RayActorError))


@case
def methods_that_exit(ray: Any) -> None:
    @ray.remote
    class A:
        def leave(self, how: str) -> None:
            if how == "exit":
                sys.exit(0)
            if how == "exit 1":
                sys.exit(1)
            if how == "raise":
                raise SystemExit
            if how == "quit":
                quit()
            os._exit(0)

        def get(self) -> int:
            return 1

    for how in ("exit", "exit 1", "raise", "quit", "os"):
        a = A.remote()
        print(
            how,
            ray.get(a.get.remote()),
            type(caught(lambda a=a, how=how: ray.get(a.leave.remote(how), timeout=20))).__name__,
        )
        print(how, type(caught(lambda a=a: ray.get(a.get.remote(), timeout=20))).__name__)


@case
def tasks_that_exit(ray: Any) -> None:
    def leave(how: int) -> None:
        if how == 0:
            sys.exit(0)
        if how == 1:
            sys.exit(1)
        os._exit(how)

    for how in (0, 1, 2):
        error = caught(lambda how=how: ray.get(ray.remote(max_retries=0)(leave).remote(how), timeout=30))
        print(how, type(error).__name__)


@case
def a_task_that_ends_its_worker_by_signal(ray: Any) -> None:
    def die(number: int) -> None:
        os.kill(os.getpid(), number)
        time.sleep(20)

    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV):
        error = caught(lambda number=number: ray.get(ray.remote(max_retries=0)(die).remote(int(number)), timeout=30))
        print(signal.Signals(number).name, type(error).__name__)


@case
def printing_an_error(ray: Any) -> None:
    def fail() -> None:
        raise ValueError("shown")

    error = caught(lambda: ray.get(ray.remote(fail).remote()))
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print("ValueError: shown" in text, "ray.get" in text or "get(" in text, "RayTaskError(ValueError)" in text)
    print(repr(error).startswith("RayTaskError(ValueError)("))


@case
def except_clauses(ray: Any) -> None:
    def fail() -> None:
        raise FileNotFoundError(2, "gone", "name")

    for kind in (
        FileNotFoundError,
        OSError,
        Exception,
        ray.exceptions.RayTaskError,
        ray.exceptions.RayError,
        ValueError,
    ):
        try:
            ray.get(ray.remote(fail).remote())
        except kind as error:
            print(kind.__name__, isinstance(error.cause, FileNotFoundError), error.cause.errno, error.cause.filename)
        except Exception:
            print(kind.__name__, "not caught")


@case
def too_many_pending_calls(ray: Any) -> None:
    @ray.remote(max_pending_calls=2)
    class A:
        def wait(self) -> None:
            time.sleep(0.5)

    a = A.remote()

    def flood() -> None:
        for _ in range(10):
            a.wait.remote()

    attempt("flood", flood)


@case
def retries_and_what_is_seen(ray: Any) -> None:
    @ray.remote
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def bump(self) -> int:
            self.n += 1
            return self.n

    counter = Counter.remote()

    @ray.remote(max_retries=3, retry_exceptions=[ValueError])
    def flaky(counter: Any, until: int, kind: Any) -> int:
        n = ray.get(counter.bump.remote())
        if n < until:
            raise kind(f"attempt {n}")
        return n

    print(ray.get(flaky.remote(counter, 3, ValueError)))
    attempt("another kind", lambda: ray.get(flaky.remote(counter, 99, KeyError)))
    print(ray.get(counter.bump.remote()))
    attempt("too often", lambda: ray.get(flaky.remote(counter, 99, ValueError)))
    print(ray.get(counter.bump.remote()))


@case
def errors_nobody_fetches(ray: Any) -> None:
    def fail() -> None:
        raise ValueError("nobody looks")

    for _ in range(3):
        ray.remote(fail).remote()
    print(ray.get(ray.remote(lambda: 1).remote()))


@case
def an_actor_restarts(ray: Any) -> None:
    @ray.remote(max_restarts=2, max_task_retries=2)
    class A:
        def __init__(self) -> None:
            self.n = 0

        def bump(self) -> int:
            self.n += 1
            return self.n

        def pid(self) -> int:
            return os.getpid()

        def again(self) -> bool:
            return ray.get_runtime_context().was_current_actor_reconstructed

    a = A.remote()
    print(ray.get([a.bump.remote(), a.bump.remote()]), ray.get(a.again.remote()))
    os.kill(ray.get(a.pid.remote()), signal.SIGKILL)
    print(eventually(lambda: ray.get(a.bump.remote()) >= 1, True), ray.get(a.again.remote()))
