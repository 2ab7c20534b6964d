"""Alternatives: what runs while the best that was asked for is not free, and what happens when it never is."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import eagleray
import pytest
from pace import PATIENCE_S, Calm, until

CPUS = 4
#: For how many seconds a task waits for the device of a process that is ending, rather than take an alternative.
LEAVING_S = 1.0


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """One GPU for all: what else runs depends on who has it."""
    with eagleray.init(address="local", num_cpus=CPUS, num_gpus=1, log_to_driver=False) as context:
        yield context


def gpu_is_free() -> bool:
    return eagleray.available_resources().get("GPU") == 1


def give_up_gpu(holder: Any) -> None:
    """Kills the actor that has the GPU, and waits until the GPU is free: a slow machine takes long to end a process.

    What chooses meanwhile waits for the GPU for a second only, see ``LEAVING_S``.
    """
    eagleray.kill(holder)
    until(gpu_is_free)


@pytest.fixture
def ray(session: Any) -> Iterator[Any]:
    """The session, with everything free before and after each test."""
    del session
    yield eagleray
    until(lambda: gpu_is_free() and eagleray.available_resources().get("CPU") == CPUS)


@pytest.fixture
def gpu_is_held(ray: Any) -> Iterator[Any]:
    """An actor that keeps the GPU until it is killed."""

    @ray.remote(num_cpus=0, num_gpus=1)
    class Holder:
        def ready(self) -> None: ...

    holder = Holder.remote()
    ray.get(holder.ready.remote(), timeout=PATIENCE_S)
    yield holder
    ray.kill(holder)


def got() -> tuple[list[str], dict[str, float], str | None]:
    """What the calling task or actor was given."""
    context = eagleray.get_runtime_context()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return context.get_accelerator_ids()["GPU"], context.get_assigned_resources(), visible


ON_GPU = (["0"], {"CPU": 1.0, "GPU": 1.0}, "0")
ON_CPU = ([], {"CPU": 2.0}, "")


def touch_and_wait(path: str, flag: str) -> None:
    """Shows that it runs, and goes on when it may."""
    open(path, "w").close()
    until(lambda: os.path.exists(flag))


class TestTasks:
    def test_the_best_that_is_free_is_taken(self, ray: Any) -> None:
        f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 2}])(got)
        assert ray.get(f.remote(), timeout=PATIENCE_S) == ON_GPU

    def test_while_it_is_not_free_the_next_one_is(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 64}, {"num_cpus": 2}, {"num_cpus": 1}])(got)
        assert ray.get(f.remote(), timeout=PATIENCE_S) == ON_CPU
        assert ray.get(f.options(fallback=[{"num_cpus": 1}]).remote(), timeout=PATIENCE_S) == ([], {"CPU": 1.0}, "")
        assert ray.get(f.options(fallback=[{}]).remote(), timeout=PATIENCE_S) == ([], {"CPU": 1.0}, "")
        assert (
            ray.get(ray.remote(got).options(num_gpus=1, fallback=({"num_cpus": 2},)).remote(), timeout=PATIENCE_S)
            == ON_CPU
        )

    def test_while_nothing_is_free_whatever_comes_first_is_taken(
        self, ray: Any, gpu_is_held: Any, tmp_path: Any
    ) -> None:
        hold = ray.remote(num_cpus=CPUS)(touch_and_wait).remote(str(tmp_path / "runs"), str(tmp_path / "end"))
        until((tmp_path / "runs").exists)
        f = ray.remote(num_cpus=0, num_gpus=1, fallback=[{"num_cpus": 2}])(got)
        ref = f.remote()
        assert ray.wait([ref], timeout=0.1)[0] == []
        ray.kill(gpu_is_held)
        assert ray.get(ref, timeout=PATIENCE_S) == (["0"], {"GPU": 1.0}, "0")
        (tmp_path / "end").touch()
        ray.get(hold, timeout=PATIENCE_S)

    def test_one_after_the_other_has_the_device(self, ray: Any) -> None:
        f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 2}])(got)
        had_it = float("inf")
        for _ in range(8):
            began = time.monotonic()
            found = ray.get(f.remote(), timeout=PATIENCE_S)
            if found == ON_GPU:
                had_it = began
            else:  # the worker that had the device takes long to end, as on a busy machine
                assert found == ON_CPU and time.monotonic() - had_it >= LEAVING_S, "it is waited for"
        until(gpu_is_free)
        kept = ray.remote(num_gpus=1, max_calls=0, fallback=[{"num_cpus": 2}])(got)
        assert [ray.get(kept.remote(), timeout=PATIENCE_S) for _ in range(8)] == [ON_GPU] * 8

    def test_a_worker_of_an_alternative_is_left_for_the_device(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 2}])(got)
        assert ray.get(f.remote(), timeout=PATIENCE_S) == ON_CPU
        give_up_gpu(gpu_is_held)
        assert ray.get(f.remote(), timeout=PATIENCE_S) == ON_GPU

    def test_nothing_waits_behind_a_busy_device(self, ray: Any, tmp_path: Any) -> None:
        @ray.remote(num_gpus=1, max_calls=0, fallback=[{"num_cpus": 2}])
        def f(path: str = "", flag: str = "") -> Any:
            if path:
                touch_and_wait(path, flag)
            return got()

        assert ray.get(f.remote(), timeout=PATIENCE_S) == ON_GPU, "the lease is known, and the calls were short"
        first = f.remote(str(tmp_path / "runs"), str(tmp_path / "end"))
        until((tmp_path / "runs").exists)
        assert ray.get([f.remote() for _ in range(5)], timeout=PATIENCE_S) == [ON_CPU] * 5
        (tmp_path / "end").touch()
        assert ray.get(first, timeout=PATIENCE_S) == ON_GPU

    def test_all_places_are_used(self, ray: Any) -> None:
        @ray.remote(num_gpus=1, num_cpus=0, max_calls=0, fallback=[{"num_cpus": 1}])
        def f(count: Any) -> Any:
            ray.get(count.come.remote())
            return got()[0]

        @ray.remote(num_cpus=0, max_concurrency=CPUS + 2)
        class Count:
            def __init__(self) -> None:
                self.all = threading.Barrier(CPUS + 1)

            def come(self) -> None:
                self.all.wait(20)

        count = Count.remote()
        found = ray.get([f.remote(count) for _ in range(CPUS + 1)], timeout=30)
        assert sorted(found) == [[]] * CPUS + [["0"]], "all at once, one of them on the device"

    def test_another_function(self, ray: Any, gpu_is_held: Any) -> None:
        def on_cpu(x: int, *, y: int) -> tuple[str, int, Any]:
            return "cpu", x * y, got()[1]

        @ray.remote(num_gpus=1, fallback=[(on_cpu, {"num_cpus": 2})])
        def f(x: int, *, y: int) -> tuple[str, int, Any]:
            return "gpu", x * y, got()[1]

        x = ray.put(6)
        assert ray.get(f.remote(x, y=7), timeout=PATIENCE_S) == ("cpu", 42, {"CPU": 2.0})
        wrapped = f.options(fallback=[(ray.remote(on_cpu), {"num_cpus": 1})])
        assert ray.get(wrapped.remote(x, y=7), timeout=PATIENCE_S) == ("cpu", 42, {"CPU": 1.0})
        give_up_gpu(gpu_is_held)
        assert ray.get(f.remote(x, y=7), timeout=PATIENCE_S) == ("gpu", 42, {"CPU": 1.0, "GPU": 1.0})

    def test_another_function_has_its_name_unless_one_is_given(self, ray: Any, gpu_is_held: Any) -> None:
        def other() -> str | None:
            return str(eagleray.get_runtime_context().get_task_name())

        @ray.remote(num_gpus=1, fallback=[(other, {})])
        def best() -> str | None:
            return None

        names = [best.remote(), best.options(name="given").remote()]
        assert [name.rpartition(".")[2] for name in ray.get(names, timeout=PATIENCE_S)] == ["other", "given"]

    def test_another_function_takes_the_same_arguments(self, ray: Any) -> None:
        @ray.remote(num_gpus=1, fallback=[(lambda: None, {"num_cpus": 1})])
        def f(x: int) -> int:
            return x

        with pytest.raises(TypeError, match="too many positional arguments"):
            f.remote(1)

    def test_options_hold_for_all(self, ray: Any, gpu_is_held: Any, tmp_path: Any) -> None:
        path = tmp_path / "once"

        def flaky() -> tuple[int, int, str]:
            if not path.exists():
                path.touch()
                raise KeyError("again")
            return 1, 2, eagleray.get_runtime_context().get_task_name() or ""

        @ray.remote(num_gpus=1, num_returns=3, retry_exceptions=[KeyError], name="mine", fallback=[(flaky, {})])
        def f() -> Any:
            raise AssertionError

        assert ray.get(f.remote(), timeout=PATIENCE_S) == [1, 2, "mine"]

    def test_workers_are_reused_as_the_choice_says(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 1}])(lambda: os.getpid())
        assert len({ray.get(f.remote(), timeout=PATIENCE_S) for _ in range(6)}) < 6, "CPU runs use workers again"
        stated = ray.remote(num_gpus=1, max_calls=1, fallback=[{"num_cpus": 1}])(lambda: os.getpid())
        assert len({ray.get(stated.remote(), timeout=PATIENCE_S) for _ in range(4)}) == 4
        give_up_gpu(gpu_is_held)
        pids = set()
        for _ in range(4):
            until(gpu_is_free)
            pids.add(ray.get(f.remote(), timeout=PATIENCE_S))
        assert len(pids) == 4, "those that had the device end"

    def test_from_within_a_task(self, ray: Any) -> None:
        inner = ray.remote(num_cpus=0, num_gpus=1, fallback=[(lambda: "cpu", {"num_cpus": 2})])(lambda: "gpu")

        @ray.remote(num_gpus=1)
        def outer() -> Any:
            return ray.get(inner.remote())

        assert ray.get(outer.remote(), timeout=PATIENCE_S) == "cpu"

    def test_a_retry_chooses_again(self, ray: Any, gpu_is_held: Any, tmp_path: Any) -> None:
        runs = tmp_path / "runs"

        @ray.remote(num_gpus=1, max_retries=1, fallback=[{"num_cpus": 2}])
        def f() -> Any:
            if not runs.exists():
                (tmp_path / "new").write_text(str(os.getpid()))
                (tmp_path / "new").rename(runs)
                time.sleep(60)
            return got()

        ref = f.remote()
        until(runs.exists)
        give_up_gpu(gpu_is_held)
        os.kill(int(runs.read_text()), signal.SIGKILL)
        assert ray.get(ref, timeout=PATIENCE_S) == ON_GPU

    def test_cancelled_while_it_waits(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback_after=60, fallback=[{"num_cpus": 2}])(got)
        refs = [f.remote() for _ in range(3)]
        until(lambda: demands(ray) == {"got": ({"CPU": 1.0, "GPU": 1.0}, 3)})
        for ref in refs:
            ray.cancel(ref)
        for ref in refs:
            with pytest.raises(ray.exceptions.TaskCancelledError):
                ray.get(ref, timeout=PATIENCE_S)
        until(lambda: demands(ray) == {})


def test_a_mix_of_all_ends(ray: Any) -> None:
    def work(seconds: float, dies: bool) -> str:
        time.sleep(seconds)
        if dies and random.random() < 0.5:
            os._exit(1)
        return "done"

    gpu = ray.remote(num_gpus=1, max_retries=-1)(work)
    kinds = [
        gpu.options(fallback=[{"num_cpus": 1}]),
        gpu.options(num_gpus=0.5, fallback=[{"num_cpus": 2}, {"num_gpus": 1}]),
        gpu.options(fallback_after=0.05, fallback=[(work, {"num_cpus": 0.5})]),
        gpu.options(num_gpus=9, fallback_after=9, fallback=[{"num_cpus": 3}]),
        gpu.options(num_gpus=0),
    ]
    chance = random.Random(4)
    refs = []
    for _ in range(120):
        seconds = chance.choice([0, 0, 0.001, 0.003, 0.02])
        refs.append(chance.choice(kinds).remote(seconds, chance.random() < 0.1))
        if chance.random() < 0.05:
            ray.cancel(chance.choice(refs[-5:]))
    left = list(refs)
    deadline = time.monotonic() + 240
    while left and time.monotonic() < deadline:
        _, left = ray.wait(left, num_returns=len(left), timeout=1)
    assert left == []


def demands(ray: Any) -> dict[str, tuple[dict[str, float], int]]:
    """What waits for resources: the function's name, what it counts as, how often."""
    from eagleray._private.calls.control import fetch_cluster
    from eagleray._private.calls.resources import from_units
    from eagleray._private.state import process

    rows = fetch_cluster(process.require())["demands"]
    return {row["name"]: (from_units(row["resources"]), row["count"]) for row in rows}


class TestAfter:
    def test_the_better_one_is_waited_for(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback_after=0.4, fallback=[{"num_cpus": 2}])(got)
        began = time.monotonic()
        assert ray.get(f.remote(), timeout=PATIENCE_S) == ON_CPU
        assert time.monotonic() - began >= 0.4

    def test_only_the_better_one_is_asked_for_meanwhile(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback_after=600, fallback=[{"num_cpus": 2}])(got)
        ref = f.remote()
        until(lambda: demands(ray) == {"got": ({"CPU": 1.0, "GPU": 1.0}, 1)})
        ray.kill(gpu_is_held)
        assert ray.get(ref, timeout=PATIENCE_S) == ON_GPU

    def test_each_task_waits_for_as_long(self, ray: Any, gpu_is_held: Any) -> None:
        @ray.remote(num_gpus=1, fallback_after=0.4, fallback=[{"num_cpus": 1}])
        def f(submitted: float) -> float:
            return time.monotonic() - submitted

        refs = []
        for _ in range(6):
            refs.append(f.remote(time.monotonic()))
            threading.Event().wait(0.1)
        waited = ray.get(refs, timeout=PATIENCE_S)
        assert min(waited) >= 0.4, waited

    def test_it_is_taken_when_it_comes_in_time(self, ray: Any, gpu_is_held: Any) -> None:
        f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 2}])(got).options(fallback_after=30)
        ref = f.remote()
        assert ray.wait([ref], timeout=0.1)[0] == []
        ray.kill(gpu_is_held)
        assert ray.get(ref, timeout=PATIENCE_S) == ON_GPU

    def test_what_the_cluster_never_has_is_not_waited_for(self, ray: Any) -> None:
        f = ray.remote(num_gpus=2, fallback_after=60, fallback=[{"num_cpus": 2}])(got)
        assert ray.get([f.remote() for _ in range(3)], timeout=PATIENCE_S) == [ON_CPU] * 3
        actor = ray.remote(num_gpus=2, fallback_after=60, fallback=[{"num_cpus": 2}])(Got).remote()
        assert ray.get(actor.what.remote(), timeout=PATIENCE_S) == ("Got", ON_CPU)
        ray.kill(actor)

    def test_what_may_come_is_waited_for(self, script: Any) -> None:
        done = script("""
            import eagleray as ray, time
            with ray.init(address="local", num_cpus=2, num_gpus=0, infeasible="wait"):
                def held():
                    return ray.get_runtime_context().get_assigned_resources()
                f = ray.remote(num_gpus=1, fallback=[{"num_cpus": 2}])(held)
                print(ray.get(f.remote(), timeout=50))
                began = time.monotonic()
                print(ray.get(f.options(fallback_after=0.3).remote(), timeout=50), time.monotonic() - began >= 0.3)
                print(ray.wait([f.options(fallback=[{"num_cpus": 3}]).remote()], timeout=0.2)[0])
        """)
        assert done.stdout.split("\n")[:3] == ["{'CPU': 2.0}", "{'CPU': 2.0} True", "[]"]

    def test_a_driver_that_leaves_takes_its_wants_along(self, script: Any) -> None:
        script("""
            import eagleray as ray
            ray.init(address="local", num_cpus=2, num_gpus=1)
            @ray.remote(num_gpus=1, num_cpus=0)
            class Holder:
                pass
            holder = Holder.remote()
            ray.get(holder.__ray_ready__.remote())
            f = ray.remote(num_gpus=1, fallback_after=600, fallback=[{"num_cpus": 2}])(lambda: None)
            refs = [f.remote() for _ in range(20)]
            assert ray.wait(refs, timeout=0.2)[0] == []
        """)  # the script may take much less time than its wants would wait


class TestNever:
    def test_every_alternative_is_named_at_once(self, ray: Any) -> None:
        f = ray.remote(num_gpus=3, fallback=[{"num_cpus": 64}, {"resources": {"unobtainium": 1}}])(got)
        with Calm() as clock:
            with pytest.raises(ray.exceptions.TaskUnschedulableError) as caught:
                ray.get(f.remote(), timeout=PATIENCE_S)
            assert clock() < 1
        for part in ("GPU: asked 3", "at most 1", "CPU: asked 64", "at most 4", "unobtainium: asked 1", "has none"):
            assert part in str(caught.value), part

    def test_of_an_actor(self, ray: Any) -> None:
        with pytest.raises(ray.exceptions.ActorUnschedulableError) as caught:
            ray.remote(num_gpus=3, fallback=[{"num_cpus": 64}])(Got).remote()
        for part in ('"GPU": 3', '"CPU": 64', "at most"):
            assert part in str(caught.value), part


class Got:
    """An actor that says what it is and has."""

    def __init__(self, add: int = 0) -> None:
        self.add = add

    def what(self) -> tuple[str, Any]:
        return type(self).__name__, got()

    def pid(self) -> int:
        return os.getpid()


class OnCPU(Got):
    async def what(self) -> tuple[str, Any]:  # type: ignore[override]
        return f"{type(self).__name__}+{self.add}", got()


class TestActors:
    def test_each_chooses_when_it_is_placed(self, ray: Any) -> None:
        many = ray.remote(num_gpus=1, fallback=[{"num_cpus": 1}])(Got)
        actors = [many.remote() for _ in range(3)]
        found = [ray.get(a.what.remote(), timeout=PATIENCE_S)[1][1] for a in actors]
        assert found == [{"CPU": 1.0, "GPU": 1.0}, {"CPU": 1.0}, {"CPU": 1.0}]
        for a in actors:
            ray.kill(a)

    def test_nothing_stated_holds_nothing(self, ray: Any, gpu_is_held: Any) -> None:
        a = ray.remote(num_gpus=1, fallback=[{}])(Got).remote()
        assert ray.get(a.what.remote(), timeout=PATIENCE_S) == ("Got", ([], {}, ""))

    def test_it_chooses_again_when_it_restarts(self, ray: Any, gpu_is_held: Any) -> None:
        a = ray.remote(num_gpus=1, max_restarts=2, max_task_retries=-1, fallback=[{"num_cpus": 2}])(Got).remote()
        assert ray.get(a.what.remote(), timeout=PATIENCE_S)[1] == ON_CPU
        give_up_gpu(gpu_is_held)
        os.kill(ray.get(a.pid.remote(), timeout=PATIENCE_S), signal.SIGKILL)
        assert ray.get(a.what.remote(), timeout=PATIENCE_S)[1] == ON_GPU
        again = ray.remote(num_gpus=1, num_cpus=0, fallback=[{}])(Got)
        pid = ray.get(a.pid.remote(), timeout=PATIENCE_S)
        os.kill(pid, signal.SIGKILL)
        until(lambda: ray.get(a.pid.remote(), timeout=PATIENCE_S) != pid, "it has the device again")
        other = again.remote()
        assert ray.get(other.what.remote(), timeout=PATIENCE_S)[1][1] == {}
        ray.kill(a)

    def test_another_class(self, ray: Any, gpu_is_held: Any) -> None:
        made = ray.remote(num_gpus=1, max_restarts=1, max_task_retries=-1, fallback=[(OnCPU, {"num_cpus": 2})])(Got)
        a = made.options(name="either").remote(add=3)
        assert ray.get(a.what.remote(), timeout=PATIENCE_S) == ("OnCPU+3", ON_CPU)
        assert ray.get(ray.get_actor("either").what.remote(), timeout=PATIENCE_S) == ("OnCPU+3", ON_CPU)
        give_up_gpu(gpu_is_held)
        os.kill(ray.get(a.pid.remote(), timeout=PATIENCE_S), signal.SIGKILL)
        assert ray.get(a.what.remote(), timeout=PATIENCE_S) == ("Got", ON_GPU)
        ray.kill(a)

    def test_another_class_must_have_the_methods(self, ray: Any) -> None:
        class Less:
            def what(self) -> None: ...

        with pytest.raises(ValueError, match=r"fallback\[0\] names the class Less, which lacks pid"):
            ray.remote(num_gpus=1, fallback=[(Less, {})])(Got)

    def test_it_waits_for_the_better_one(self, ray: Any, gpu_is_held: Any) -> None:
        began = time.monotonic()
        a = ray.remote(num_gpus=1, fallback_after=0.3, fallback=[{"num_cpus": 2}])(Got).remote()
        assert ray.get(a.what.remote(), timeout=PATIENCE_S)[1] == ON_CPU and time.monotonic() - began >= 0.3

    def test_killed_while_it_waits(self, ray: Any, gpu_is_held: Any) -> None:
        a = ray.remote(num_gpus=1, fallback_after=60, fallback=[{"num_cpus": 2}])(Got).remote()
        until(lambda: demands(ray) == {"Got": ({"CPU": 1.0, "GPU": 1.0}, 1)})
        ray.kill(a)
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(a.what.remote(), timeout=PATIENCE_S)
        until(lambda: demands(ray) == {})


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"fallback": {"num_cpus": 1}}, TypeError, r"'fallback' must be \(<class 'list'>, <class 'tuple'>"),
        ({"fallback": [1]}, TypeError, r"fallback\[0\] must be a dictionary"),
        ({"fallback": [{}, (got,)]}, TypeError, r"fallback\[1\] must be a dictionary"),
        ({"fallback": [(3, {})]}, TypeError, r"fallback\[0\] must be a dictionary"),
        ({"fallback": [{"num_returns": 2}]}, ValueError, r"fallback\[0\] cannot set 'num_returns'.*num_cpus, num_gpus"),
        ({"fallback": [{"fallback": []}]}, ValueError, "write all alternatives into one list"),
        ({"fallback": [{"num_cpus": -1}]}, ValueError, r"fallback\[0\]\['num_cpus'\].*nonnegative"),
        ({"fallback": [{"num_cpus": "2"}]}, TypeError, r"fallback\[0\]\['num_cpus'\]"),
        ({"fallback": [{"resources": {"CPU": 1}}]}, ValueError, "num_cpus"),
        ({"fallback": [{}] * 17}, ValueError, "at most 16 alternatives, got 17"),
        ({"fallback": [{}], "fallback_after": -1}, ValueError, "0 or more"),
        ({"fallback": [{}], "fallback_after": True}, ValueError, "0 or more"),
        ({"fallback": [{}], "fallback_after": float("nan")}, ValueError, "0 or more"),
        ({"fallback": [{}], "fallback_after": "1"}, TypeError, "fallback_after"),
        ({"fallback_after": 1}, ValueError, "give 'fallback', too"),
        ({"fallback": [{}], "fallback_strategy": []}, ValueError, "cannot be used together"),
        (
            {"fallback": [{}], "fallback_strategy": [{"label_selector": {"a": "b"}}]},
            ValueError,
            "cannot be used together",
        ),
    ],
)
def test_misuse_is_told(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        eagleray.remote(**options)(got)
    with pytest.raises(error, match=text):
        eagleray.remote(**options)(Got)
    with pytest.raises(error, match=text):
        eagleray.remote(got).options(**options)


def test_functions_and_classes_do_not_mix() -> None:
    with pytest.raises(TypeError, match=r"fallback\[0\] of a remote function must name a function"):
        eagleray.remote(fallback=[(Got, {})])(got)
    with pytest.raises(TypeError, match=r"fallback\[0\] of an actor must name a class"):
        eagleray.remote(fallback=[(got, {})])(Got)
    with pytest.raises(ValueError, match="async def"):

        async def later() -> None: ...

        eagleray.remote(fallback=[(later, {})])(got)


def test_amounts_are_checked_where_they_are_used(ray: Any) -> None:
    with pytest.raises(ValueError, match="whole number"):
        ray.remote(num_gpus=1, fallback=[{"num_gpus": 1.5}])(got).remote()


def test_none_takes_it_back(ray: Any, gpu_is_held: Any) -> None:
    f = ray.remote(num_gpus=1, fallback_after=1, fallback=[{"num_cpus": 2}])(got).options(fallback=None)
    ref = f.remote()
    assert ray.wait([ref], timeout=0.2)[0] == []
    ray.cancel(ref)
