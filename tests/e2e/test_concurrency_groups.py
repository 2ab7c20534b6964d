"""Concurrency groups: calls of one group do not wait for those of another."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest
from pace import PATIENCE_S


def gauge() -> dict[str, Any]:
    return {"now": 0, "most": 0, "gate": threading.Event(), "lock": threading.Lock()}


class Threaded:
    """What its methods do is the same for all groups: they count who is inside, and wait for the gate."""

    def __init__(self) -> None:
        self.gauges: dict[str, dict[str, Any]] = {}
        self.order: list[int] = []

    def _inside(self, group: str) -> Any:
        import eagleray

        found = self.gauges.setdefault(group, gauge())
        with found["lock"]:
            found["now"] += 1
            found["most"] = max(found["most"], found["now"])
        found["gate"].wait(30)
        with found["lock"]:
            found["now"] -= 1
        return group, eagleray.get_runtime_context().get_task_name()

    def compute(self) -> Any:
        return self._inside("compute")

    def plain(self) -> Any:
        return self._inside("plain")

    def note(self, number: int) -> int:
        self.order.append(number)
        return number

    def numbers(self) -> list[int]:
        return self.order

    def inside(self, group: str) -> int:
        return int(self.gauges.get(group, {"now": 0})["now"])

    def most(self, group: str) -> int:
        return int(self.gauges[group]["most"])

    def open(self, group: str) -> None:
        self.gauges.setdefault(group, gauge())["gate"].set()

    def thread(self) -> tuple[str, bool]:
        return threading.current_thread().name, threading.current_thread() is threading.main_thread()

    def crash(self) -> None:
        os._exit(3)

    def stream(self) -> Any:
        yield from range(3)


@pytest.fixture
def threaded(ray: Any) -> Any:
    class Grouped(Threaded):
        io = ray.method(concurrency_group="io")(lambda self: self._inside("io"))
        compute = ray.method(concurrency_group="compute")(lambda self: self._inside("compute"))

    groups = {"io": 2, "compute": 3, "look": 1}
    made = ray.remote(num_cpus=0, concurrency_groups=groups, max_restarts=1, max_task_retries=0)(Grouped).remote()
    yield made
    ray.kill(made)


def look(actor: Any, method: str, *args: Any) -> Any:
    """Calls a method in a group in which nothing waits."""
    import eagleray

    return eagleray.get(getattr(actor, method).options(concurrency_group="look").remote(*args), timeout=PATIENCE_S)


def until(actor: Any, group: str, count: int) -> None:
    """Waits until so many calls of a group are inside."""
    while look(actor, "inside", group) != count:
        pass


def test_groups_have_limits_of_their_own_and_wait_for_nobody_else(ray: Any, threaded: Any) -> None:
    calls = {
        "io": [threaded.io.remote() for _ in range(5)],
        "compute": [threaded.compute.remote() for _ in range(5)],
        "plain": [threaded.plain.remote() for _ in range(2)],
    }
    for group, limit in (("io", 2), ("compute", 3), ("plain", 1)):
        until(threaded, group, limit)
    for group, refs in calls.items():
        look(threaded, "open", group)
        names = {name for _, name in ray.get(refs, timeout=PATIENCE_S)}
        assert names == {f"Grouped.{group}"}
    assert [look(threaded, "most", group) for group in calls] == [2, 3, 1]


def test_a_call_may_choose_its_group(ray: Any, threaded: Any) -> None:
    blocked = [threaded.io.remote() for _ in range(2)]
    until(threaded, "io", 2)
    moved = threaded.io.options(concurrency_group="compute").remote()
    until(threaded, "io", 3)
    same = [threaded.io.options(concurrency_group=group).remote() for group in (None, "")]  # the method's own
    assert ray.wait(same, timeout=0)[0] == []
    look(threaded, "open", "io")
    assert len(ray.get([*blocked, moved, *same], timeout=PATIENCE_S)) == 5


def test_each_group_has_threads_of_its_own(ray: Any, threaded: Any) -> None:
    def of(group: str) -> set[Any]:
        method = threaded.thread.options(concurrency_group=group)
        return set(ray.get([method.remote() for _ in range(20)], timeout=PATIENCE_S))

    assert {main for _, main in of("")} == {True}  # one thread, the main one, as without groups
    assert of("io") == {("eagleray-io", False)} and of("look") == {("eagleray-look", False)}


def test_calls_of_a_group_begin_in_order(ray: Any, threaded: Any) -> None:
    method = threaded.note.options(concurrency_group="look")
    ray.get([method.remote(number) for number in range(300)], timeout=PATIENCE_S)
    assert look(threaded, "numbers") == list(range(300))


def test_a_late_argument_holds_its_own_group_only(ray: Any, threaded: Any, tmp_path: Any) -> None:
    ready = tmp_path / "ready"

    @ray.remote
    def late() -> int:
        while not ready.exists():
            threading.Event().wait(0.005)
        return 1

    method = threaded.note.options(concurrency_group="io")
    held = [method.remote(late.remote()), method.remote(2)]
    assert [look(threaded, "note", number) for number in range(10, 13)] == [10, 11, 12]
    assert ray.get(threaded.note.remote(20), timeout=PATIENCE_S) == 20
    assert look(threaded, "numbers") == [10, 11, 12, 20]
    ready.touch()
    assert ray.get(held, timeout=PATIENCE_S) == [1, 2] and look(threaded, "numbers") == [10, 11, 12, 20, 1, 2]


def test_the_system_group_runs_beside_a_blocked_actor(ray: Any) -> None:
    a = ray.remote(num_cpus=0)(Threaded).remote()
    system = {name: getattr(a, name).options(concurrency_group="_ray_system") for name in ("inside", "open", "plain")}
    first = a.plain.remote()
    while ray.get(system["inside"].remote("plain"), timeout=PATIENCE_S) != 1:
        pass
    ray.get(system["open"].remote("plain"), timeout=PATIENCE_S)
    assert ray.get(first, timeout=PATIENCE_S) == ("plain", "Threaded.plain")
    # And the other way round: what blocks the system group does not block the actor.
    b = ray.remote(num_cpus=0)(Threaded).remote()
    blocked = b.plain.options(concurrency_group="_ray_system").remote()
    while ray.get(b.inside.remote("plain"), timeout=PATIENCE_S) != 1:
        pass
    ray.get(b.open.remote("plain"), timeout=PATIENCE_S)
    assert ray.get(blocked, timeout=PATIENCE_S)[0] == "plain"
    for actor in (a, b):
        ray.kill(actor)


def test_context_and_errors_are_of_the_call_on_each_thread(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Namer:
        def name(self) -> tuple[str, str]:
            context = ray.get_runtime_context()
            return context.get_task_name(), context.get_task_id()

        def fail(self) -> None:
            raise KeyError("of the system group")

        def submit(self) -> Any:
            return ray.get(ray.remote(num_cpus=0)(lambda: 5).remote())

    a = Namer.remote()
    for group in ("", "_ray_system"):
        refs = [a.name.options(concurrency_group=group, name=f"n{i}").remote() for i in range(20)]
        found = ray.get(refs, timeout=PATIENCE_S)
        assert found == [(f"n{i}", ref.task_id().hex()) for i, ref in enumerate(refs)]
    with pytest.raises(KeyError):
        ray.get(a.fail.options(concurrency_group="_ray_system").remote(), timeout=PATIENCE_S)
    assert ray.get(a.submit.options(concurrency_group="_ray_system").remote(), timeout=PATIENCE_S) == 5


def test_cancelled_calls_of_a_group_do_not_run(ray: Any, threaded: Any) -> None:
    blocked = [threaded.io.remote() for _ in range(2)]
    until(threaded, "io", 2)
    waiting = threaded.note.options(concurrency_group="io").remote(1)
    ray.cancel(waiting)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(waiting, timeout=PATIENCE_S)
    look(threaded, "open", "io")
    ray.get(blocked, timeout=PATIENCE_S)
    assert look(threaded, "numbers") == []


def test_generators_and_lost_arguments_of_a_group(ray: Any, threaded: Any) -> None:
    blocked = threaded.plain.remote()
    until(threaded, "plain", 1)
    stream = threaded.stream.options(concurrency_group="io").remote()
    assert [ray.get(item, timeout=PATIENCE_S) for item in stream] == [0, 1, 2]
    big = ray.remote(lambda: b"x" * 200_000).remote()
    assert len(look(threaded, "note", big)) == 200_000
    look(threaded, "open", "plain")
    ray.get(blocked, timeout=PATIENCE_S)


def test_groups_are_there_after_a_restart_and_in_other_processes(ray: Any, threaded: Any) -> None:
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(threaded.crash.options(concurrency_group="io").remote(), timeout=PATIENCE_S)

    @ray.remote(num_cpus=0)
    def through(actor: Any, method: Any) -> Any:
        blocked = [method.remote() for _ in range(3)]
        until(actor, "io", 2)
        look(actor, "open", "io")
        with pytest.raises(ValueError, match="'nope'"):
            method.options(concurrency_group="nope")
        return ray.get(blocked, timeout=PATIENCE_S)

    assert len(ray.get(through.remote(threaded, threaded.io), timeout=30)) == 3


def test_pending_calls_are_counted_over_all_groups(ray: Any) -> None:
    groups = {"io": 1}
    a = ray.remote(num_cpus=0, max_pending_calls=2, concurrency_groups=groups)(Threaded).remote()
    blocked = [a.plain.remote(), a.plain.options(concurrency_group="io").remote()]
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded):
        a.plain.options(concurrency_group="io").remote()
    ray.kill(a)
    for ref in blocked:
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(ref, timeout=PATIENCE_S)


def test_a_group_that_was_not_declared_is_refused_with_those_that_were(ray: Any, threaded: Any) -> None:
    with pytest.raises(ValueError, match=r"Grouped.note names the concurrency group 'disk'.*'io', 'compute', 'look'"):
        threaded.note.options(concurrency_group="disk")
    plain = ray.remote(num_cpus=0)(Threaded).remote()
    with pytest.raises(ValueError, match=r"its class declares none.*@remote\(concurrency_groups={'io': 1}\)"):
        plain.note.options(concurrency_group="io")
    with pytest.raises(TypeError, match="concurrency_group takes the name of a group"):
        plain.note.options(concurrency_group=5)
    with pytest.raises(TypeError, match="concurrency_group takes the name of a group"):
        ray.method(concurrency_group=5)

    class Undeclared:
        @ray.method(concurrency_group="io")
        def read(self) -> None: ...

    with pytest.raises(ValueError, match=r"Undeclared.read names the concurrency group 'io', but its class declares"):
        ray.remote(concurrency_groups={"disk": 1})(Undeclared).remote()


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        ({"io": 0}, ValueError),
        ({"io": -1}, ValueError),
        ({"": 1}, ValueError),
        ({5: 1}, ValueError),
        ({"io": 1.5}, TypeError),
        ({"io": None}, TypeError),
        ([("io", 2)], TypeError),
    ],
)
def test_wrong_declarations_are_refused(ray: Any, groups: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="concurrency_groups"):
        ray.remote(concurrency_groups=groups)(Threaded)


def test_groups_are_an_option_of_the_decorator_only(ray: Any) -> None:
    with pytest.raises(ValueError, match=r"not supported in '.options\(\)': write it in the decorator"):
        ray.remote(Threaded).options(concurrency_groups={"io": 1})


class Asynchronous:
    def __init__(self) -> None:
        self.now: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.gate = threading.Event()

    async def enter(self, group: str) -> str:
        """Waits until ``leave`` is called, without blocking its loop."""
        self.now[group] = self.now.get(group, 0) + 1
        self.most[group] = max(self.most.get(group, 0), self.now[group])
        while not self.gate.is_set():
            await asyncio.sleep(0.005)
        self.now[group] -= 1
        return group

    async def block(self) -> bool:
        """Blocks its loop."""
        self.now["block"] = 1
        return self.gate.wait(30)

    async def inside(self, group: str) -> int:
        return self.now.get(group, 0)

    async def highest(self, group: str) -> int:
        return self.most[group]

    async def leave(self) -> None:
        self.gate.set()

    async def loop(self) -> tuple[str, int]:
        return threading.current_thread().name, id(asyncio.get_running_loop())

    def plain_loop(self) -> tuple[str, int]:
        return threading.current_thread().name, id(asyncio.get_running_loop())

    async def submit(self) -> Any:
        import eagleray

        return await eagleray.remote(num_cpus=0)(lambda: 5).remote()

    async def items(self) -> Any:
        for number in range(3):
            yield number


@pytest.fixture
def asynchronous(ray: Any) -> Any:
    groups = {"io": 2, "compute": 3, "look": 10}
    made = ray.remote(num_cpus=0, max_concurrency=4, concurrency_groups=groups)(Asynchronous).remote()
    yield made
    ray.kill(made)


def test_coroutines_of_a_group_have_its_limit(ray: Any, asynchronous: Any) -> None:
    refs = []
    for group in ("io", "compute", ""):
        refs += [asynchronous.enter.options(concurrency_group=group).remote(group) for _ in range(6)]
    for group, limit in (("io", 2), ("compute", 3), ("", 4)):
        until(asynchronous, group, limit)
    look(asynchronous, "leave")
    ray.get(refs, timeout=PATIENCE_S)
    assert [look(asynchronous, "highest", group) for group in ("io", "compute", "")] == [2, 3, 4]


def test_coroutines_of_a_group_share_a_loop_that_no_other_group_blocks(ray: Any, asynchronous: Any) -> None:
    blocked = asynchronous.block.options(concurrency_group="io").remote()
    until(asynchronous, "block", 1)
    loops = {}
    for group in ("", "compute", "look", "_ray_system"):
        for method in (asynchronous.loop, asynchronous.plain_loop):
            chosen = method.options(concurrency_group=group)
            loops.setdefault(group, set()).update(ray.get([chosen.remote() for _ in range(5)], timeout=PATIENCE_S))
    assert all(len(found) == 1 for found in loops.values())
    assert loops[""] == loops["_ray_system"] and len(set.union(*loops.values())) == 3
    look(asynchronous, "leave")
    assert ray.get(blocked, timeout=PATIENCE_S) is True


def test_coroutines_of_a_group_are_cancelled_submit_and_yield(ray: Any, asynchronous: Any) -> None:
    for group in ("io", ""):
        method = asynchronous.enter.options(concurrency_group=group)
        running = method.remote(group)
        until(asynchronous, group, 1)
        ray.cancel(running)
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(running, timeout=PATIENCE_S)
    limit = 2
    method = asynchronous.enter.options(concurrency_group="io")
    refs = [method.remote("late") for _ in range(limit + 1)]  # the last one has not begun
    until(asynchronous, "late", limit)
    ray.cancel(refs[-1])
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(refs[-1], timeout=PATIENCE_S)
    look(asynchronous, "leave")
    assert ray.get(refs[:limit], timeout=PATIENCE_S) == ["late"] * limit
    assert ray.get(asynchronous.submit.options(concurrency_group="io").remote(), timeout=PATIENCE_S) == 5
    stream = asynchronous.items.options(concurrency_group="compute").remote()
    assert [ray.get(item, timeout=PATIENCE_S) for item in stream] == [0, 1, 2]
