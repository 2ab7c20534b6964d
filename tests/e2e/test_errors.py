"""What goes wrong, and how it is told."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import time
from typing import Any

import pytest
from pace import PATIENCE_S


class TwoArguments(Exception):
    def __init__(self, a: int, b: str) -> None:
        super().__init__(f"{a}-{b}")
        self.a, self.b = a, b


def test_exception_is_both_classes_with_remote_traceback(ray: Any) -> None:
    @ray.remote
    def divide(x: int) -> float:
        return 1 / x

    with pytest.raises(ZeroDivisionError) as caught:
        ray.get(divide.remote(0))
    error = caught.value
    assert isinstance(error, ray.exceptions.RayTaskError) and isinstance(error.cause, ZeroDivisionError)
    assert "divide" in str(error) and "return 1 / x" in str(error) and f"{os.path.basename(__file__)}" in str(error)
    assert "_private/worker" not in str(error), "the runtime's own frames are no help"
    assert type(error).__name__ == "RayTaskError(ZeroDivisionError)"
    assert isinstance(pickle.loads(pickle.dumps(error)), ZeroDivisionError)


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        (KeyError, ("k",)),
        (FileNotFoundError, (2, "no", "f")),
        (StopIteration, (3,)),
        (TwoArguments, (1, "x")),
        (UnicodeDecodeError, ("utf8", b"", 0, 1, "r")),
    ],
)
def test_attributes_of_the_cause(ray: Any, kind: type[Exception], args: tuple[Any, ...]) -> None:
    @ray.remote
    def fail() -> None:
        raise kind(*args)

    error = kind(*args)
    with pytest.raises(kind) as caught:
        ray.get(fail.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    for name in ("errno", "filename", "value", "a", "b", "reason"):
        assert getattr(caught.value, name, None) == getattr(error, name, None)


def test_unpicklable_exception_keeps_its_text(ray: Any) -> None:
    class Locked(Exception):
        def __init__(self) -> None:
            import threading

            super().__init__("it is locked")
            self.lock = threading.Lock()

        def __reduce__(self) -> Any:
            raise TypeError("never")

    @ray.remote
    def fail() -> None:
        raise Locked

    with pytest.raises(ray.exceptions.RayTaskError, match="it is locked"):
        ray.get(fail.remote())


def test_errors_travel_through_dependants_and_nested_tasks(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise KeyError("root")

    @ray.remote
    def use(x: Any) -> Any:
        return x

    @ray.remote
    def nested() -> Any:
        return ray.get(fail.remote())

    for ref in (use.remote(fail.remote()), use.remote(use.remote(fail.remote())), nested.remote()):
        with pytest.raises(KeyError) as caught:
            ray.get(ref)
        assert type(caught.value).__name__ == "RayTaskError(KeyError)"
        assert isinstance(caught.value.cause, KeyError) and "root" in str(caught.value)


def test_first_error_of_a_list(ray: Any) -> None:
    @ray.remote
    def fail(kind: type[Exception]) -> None:
        raise kind("x")

    @ray.remote
    def slow() -> None:
        time.sleep(60)

    both = [fail.remote(KeyError), fail.remote(ValueError)]
    ray.wait(both, num_returns=2, timeout=60)  # get raises as soon as one of them has failed, and either may be first
    with pytest.raises(KeyError):
        ray.get(both)
    waiting = slow.remote()
    with pytest.raises(ValueError):
        ray.get([waiting, fail.remote(ValueError)], timeout=30)
    ray.cancel(waiting, force=True)


@pytest.mark.parametrize("how", ["kill", "exit", "segfault"])
def test_crash_after_the_retries(ray: Any, tmp_path: Any, how: str) -> None:
    log = tmp_path / "tries"

    @ray.remote(max_retries=1)
    def crash() -> None:
        with open(log, "a") as file:
            file.write("x")
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "segfault":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        os._exit(3)

    with pytest.raises(ray.exceptions.WorkerCrashedError, match="crash"):
        ray.get(crash.remote(), timeout=30)
    assert log.read_text() == "xx"


def test_sys_exit_is_a_crash(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def leave() -> None:
        sys.exit(3)

    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(leave.remote(), timeout=30)


def test_get_timeout(ray: Any) -> None:
    @ray.remote
    def slow() -> None:
        time.sleep(60)

    ref = slow.remote()
    for timeout in (0, 0.05):
        with pytest.raises(ray.exceptions.GetTimeoutError, match=ref.hex()):
            ray.get(ref, timeout=timeout)
        with pytest.raises(TimeoutError):
            ray.get([ref], timeout=timeout)
    ray.cancel(ref, force=True)


def test_misuse_is_told(ray: Any) -> None:
    @ray.remote
    def f(x: int = 1) -> int:
        return x

    @ray.remote
    class A:
        def m(self) -> None: ...

    a = A.remote()
    with pytest.raises(TypeError, match=r"f\.remote\(\)"):
        f()
    with pytest.raises(TypeError, match=r"A\.remote\(\)"):
        A()
    with pytest.raises(TypeError, match=r"object\.m\.remote\(\)"):
        a.m()
    with pytest.raises(AttributeError, match="nope"):
        a.nope  # noqa: B018
    with pytest.raises(TypeError, match="too many positional arguments"):
        f.remote(1, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        f.remote(y=1)
    with pytest.raises(TypeError, match="too many positional arguments"):
        a.m.remote(1)
    with pytest.raises(ValueError, match="Invalid type of object refs"):
        ray.get(1)
    with pytest.raises(TypeError, match="not an ObjectRef"):
        ray.get([1])
    with pytest.raises(TypeError):
        ray.wait(f.remote())
    with pytest.raises(ValueError, match="unique"):
        ref = ray.put(1)
        ray.wait([ref, ref])
    with pytest.raises(ValueError, match="num_returns"):
        ray.wait([ray.put(1)], num_returns=2)
    with pytest.raises(ValueError):
        ray.kill(f.remote())
    with pytest.raises(TypeError):
        ray.cancel(a)
    with pytest.raises(ValueError, match="'nobody'"):
        ray.get_actor("nobody")


@pytest.mark.parametrize("target", [len, 3, "x", lambda: 1], ids=["builtin", "number", "text", "lambda"])
def test_only_functions_and_classes(ray: Any, target: Any) -> None:
    if callable(target) and target.__name__ == "<lambda>":
        assert ray.get(ray.remote(target).remote()) == 1
    else:
        with pytest.raises((TypeError, AssertionError)):
            ray.remote(target)


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_cpu": 1}, ValueError, "num_cpus"),
    ({"num_cpus": -1}, ValueError, "nonnegative"),
    ({"num_gpus": 0.00001}, ValueError, "0.0001"),
    ({"num_cpus": "1"}, TypeError, "num_cpus"),
    ({"resources": {"CPU": 1}}, ValueError, "num_cpus"),
    ({"resources": {"a": -1}}, ValueError, "nonnegative"),
    ({"resources": {"a": 0.12345}}, ValueError, "0.0001"),
    ({"resources": 1}, TypeError, "resources"),
    ({"num_returns": -1}, ValueError, "num_returns"),
    ({"num_returns": "x"}, TypeError, "num_returns"),
    ({"max_retries": -2}, ValueError, "max_retries"),
    ({"max_calls": -1}, ValueError, "max_calls"),
    ({"lifetime": "detached"}, ValueError, "lifetime"),
    ({"retry_exceptions": [1]}, ValueError, "retry_exceptions"),
    ({"name": 1}, TypeError, "name"),
    ({"num_cpus": 1e15}, ValueError, "'num_cpus' is too large"),
    ({"num_gpus": 2**70}, ValueError, "'num_gpus' is too large"),
    ({"memory": 1 << 50}, ValueError, "'memory' is too large"),
    ({"resources": {"a": 1e300}}, ValueError, "'a'.*too large"),
    ({"max_retries": 2**70}, ValueError, "'max_retries' only accepts numbers up to"),
    ({"scheduling_strategy": "spread"}, ValueError, "'SPREAD'.*got 'spread'"),
]


@pytest.mark.parametrize(("options", "kind", "text"), BAD_OPTIONS, ids=str)
def test_wrong_options_of_functions(ray: Any, options: dict[str, Any], kind: type[Exception], text: str) -> None:
    def f() -> None: ...

    with pytest.raises(kind, match=text):
        ray.remote(**options)(f)
    with pytest.raises((kind, ValueError)):
        ray.remote(f).options(**options)


BAD_ACTOR_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"max_restart": 1}, ValueError, "max_restarts"),
    ({"num_returns": 2}, ValueError, "num_returns"),
    ({"max_restarts": -2}, ValueError, "max_restarts"),
    ({"max_concurrency": 1.5}, TypeError, "max_concurrency"),
    ({"lifetime": "x"}, ValueError, "detached"),
    ({"memory": -1}, ValueError, "nonnegative"),
    ({"memory": 1 << 50}, ValueError, "'memory' is too large"),
    ({"max_restarts": 2**70}, ValueError, "'max_restarts' only accepts numbers up to"),
    ({"max_pending_calls": 2**70}, ValueError, "'max_pending_calls' only accepts numbers up to"),
    ({"max_concurrency": 2**70}, ValueError, "'max_concurrency' only accepts numbers up to"),
    ({"scheduling_strategy": "spread"}, ValueError, "'SPREAD'.*got 'spread'"),
]


@pytest.mark.parametrize(("options", "kind", "text"), BAD_ACTOR_OPTIONS, ids=str)
def test_wrong_options_of_actors(ray: Any, options: dict[str, Any], kind: type[Exception], text: str) -> None:
    class A: ...

    with pytest.raises(kind, match=text):
        ray.remote(**options)(A)


def test_more_threads_than_a_process_can_have_are_refused(ray: Any) -> None:
    class Plain:
        def m(self) -> int:
            return 1

    class Asynchronous:
        async def m(self) -> int:
            return 1

    for options in ({"max_concurrency": 2**31}, {"concurrency_groups": {"io": 40_000}}):
        with pytest.raises(ValueError, match=r"the actor Plain would have \d+ threads"):
            ray.remote(**options)(Plain).remote()
        actor = ray.remote(**options)(Asynchronous).remote()
        assert ray.get(actor.m.remote(), timeout=60) == 1


@pytest.mark.parametrize(("name", "amount"), [("TPU", 3), ("neuron_cores", 0.5), ("HPU", 1.5), ("GPU", 1.5)])
def test_devices_that_cannot_be_split(ray: Any, name: str, amount: float) -> None:
    @ray.remote
    def f() -> None: ...

    options: dict[str, Any] = {"num_gpus": amount} if name == "GPU" else {"resources": {name: amount}}
    with pytest.raises(ValueError, match=name):
        f.options(**options).remote()


def test_cancel_running_queued_and_finished(ray: Any) -> None:
    @ray.remote
    def slow() -> str:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            return "must not count"
        return "done"

    @ray.remote
    def clean_up() -> None:
        time.sleep(60)

    @ray.remote
    def quick() -> int:
        return 1

    refs = [clean_up.remote() for _ in range(4)]
    queued = clean_up.remote()
    ray.wait(refs, timeout=0.5)
    ray.cancel(queued)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(queued, timeout=60)
    for ref in refs:
        ray.cancel(ref)
    for ref in refs:
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(ref, timeout=60)
    done = quick.remote()
    assert ray.get(done) == 1
    ray.cancel(done)
    assert ray.get(done) == 1


@pytest.mark.parametrize(
    "options", [{"num_gpus": 0}, {"num_gpus": 1}], ids=["the owner lives", "the owner has moved out"]
)
def test_cancel_what_another_process_submitted(ray: Any, options: dict[str, int]) -> None:
    """Its owner is asked, or that one's successor; what runs is interrupted, what waits never runs."""

    @ray.remote(num_cpus=0)
    def slow(*_: Any) -> None:
        for _ in range(6000):
            time.sleep(0.01)

    @ray.remote(num_cpus=0)
    class Slow:
        def call(self) -> None:
            time.sleep(1)

    @ray.remote(**options)
    def parent() -> list[Any]:
        running = slow.remote()
        actor = Slow.remote()
        return [running, slow.remote(running), actor.call.remote(), actor]

    running, waiting, call, _actor = ray.get(parent.remote(), timeout=60)
    ray.wait([running], timeout=0.3)
    with pytest.raises(ValueError, match="kill"):
        ray.cancel(call, force=True)
    for ref in (waiting, running):
        ray.cancel(ref)
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(ref, timeout=60)
    assert ray.get(call, timeout=60) is None
    ray.cancel(call)


def test_cancel_with_force(ray: Any) -> None:
    @ray.remote
    def stubborn() -> None:
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                continue

    ref = stubborn.remote()
    ray.wait([ref], timeout=0.5)
    ray.cancel(ref, force=True)
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
        ray.get(ref, timeout=60)


def test_import_that_fails_in_the_worker(ray: Any) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return __import__, ("no_such_module_anywhere",)

    trap = Trap()

    @ray.remote
    def f() -> Any:
        return trap

    with pytest.raises(ModuleNotFoundError) as caught:
        ray.get(f.remote(), timeout=PATIENCE_S)
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_a_class_that_forbids_subclasses_is_warned_about_once(ray: Any, caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(logging.getLogger("eagleray"), "propagate", True)

    class Final(Exception):
        def __init_subclass__(cls, **_: Any) -> None:
            raise TypeError("Final has no subclasses")

    @ray.remote
    def fail() -> None:
        raise Final("x")

    with caplog.at_level("WARNING"):
        for _ in range(2):
            with pytest.raises(ray.exceptions.RayTaskError) as caught:
                ray.get(fail.remote(), timeout=PATIENCE_S)
            assert type(caught.value) is ray.exceptions.RayTaskError and type(caught.value.cause).__name__ == "Final"
    said = [record.getMessage() for record in caplog.records if "Final" in record.getMessage()]
    assert len(said) == len({type(caught.value.cause)}) and "catch RayTaskError" in said[0]


def test_errors_name_the_address_that_nodes_names(ray: Any) -> None:
    address = ray.nodes()[0]["NodeManagerAddress"]
    assert address == ray.util.get_node_ip_address()

    @ray.remote(num_cpus=0)
    class Fails:
        def __init__(self, now: bool) -> None:
            if now:
                raise KeyError("constructor")

        def fail(self) -> None:
            raise KeyError("method")

        async def stream(self) -> Any:
            yield 1
            raise KeyError("generator")

    @ray.remote
    def fail() -> None:
        raise KeyError("task")

    a = Fails.remote(False)
    items = list(a.stream.remote())
    for ref in (fail.remote(), a.fail.remote(), items[-1], Fails.remote(True).fail.remote()):
        with pytest.raises(ray.exceptions.RayError) as caught:
            ray.get(ref, timeout=PATIENCE_S)
        assert f"ip={address}" in str(caught.value)
    with pytest.raises(KeyError) as caught:
        ray.get(fail.remote(), timeout=PATIENCE_S)
    assert caught.value.ip == address  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [None, ""])
def test_names_and_namespaces_that_are_none(ray: Any, name: Any) -> None:
    with pytest.raises(ValueError, match="an actor's name"):
        ray.get_actor(name)
    with pytest.raises(ValueError, match="namespace"):
        ray.get_actor("x", namespace="")
    actor_class = ray.remote(type("A", (), {}))
    with pytest.raises(ValueError, match="'namespace' takes a name"):
        actor_class.options(name="x", namespace="")
    with pytest.raises(ValueError, match="'namespace' takes a name"):
        ray.remote(namespace="")(type("A", (), {}))
