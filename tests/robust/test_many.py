"""Large numbers: tasks, references, arguments, results, actors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import eagleray
import pytest
from processes import private, pss
from program import Program

LIMIT = 60.0
MANY = 10_000

SUBMITTER = """
    ray.init(address="local", num_cpus=2, log_to_driver=False)

    @ray.remote
    def nothing():
        return None

    ray.get([nothing.remote() for _ in range(2000)])
    say("ready")
    input()
    refs = [nothing.remote() for _ in range(COUNT)]
    say("submitted")
    for start in range(0, COUNT, 1000):
        assert ray.get(refs[start : start + 1000]) == [None] * 1000
    say("done")
    input()
    refs.clear()
    gc.collect()
    assert ray.get(nothing.remote()) is None
    say("cleared")
    input()
"""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_tasks_submitted_in_one_go(program: Callable[..., Program], count: int) -> None:
    """The driver pays at most 1 KiB for each live reference, nobody else pays for their number."""
    driver = program(SUBMITTER.replace("COUNT", str(count)))
    assert driver.line() == "ready"

    def others() -> int:
        return sum(private(pid) for pid in driver.members() if pid != driver.pid)

    own, rest = private(driver.pid), others()
    driver.answer()
    assert driver.line(300) == "submitted"
    pending = (private(driver.pid) - own) / count
    assert driver.line(300) == "done"
    live = (private(driver.pid) - own) / count
    grown = others() - rest
    driver.answer()
    assert driver.line(60) == "cleared"
    assert pending <= 1024 and live <= 1024, f"{pending:.0f} bytes for a pending reference, {live:.0f} for a ready one"
    assert grown <= 24 << 20, f"the daemon and the workers grew by {grown >> 20} MiB"


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(300)])])
def test_actors_that_live_at_once(fresh: Any, count: int) -> None:
    """Each costs at most 8 MB."""
    ray = fresh
    ray.init(address="local", num_cpus=2, log_to_driver=False)

    @ray.remote(num_cpus=0)
    class Actor:
        def pid(self) -> int:
            import os

            return os.getpid()

    actors = [Actor.remote() for _ in range(count)]
    pids = ray.get([actor.pid.remote() for actor in actors], timeout=240)
    assert len(set(pids)) == count
    sizes = sorted(pss(pid) for pid in pids)
    assert sizes[-1] <= 8_000_000, f"the largest has {sizes[-1]}, the median {sizes[count // 2]} bytes"
    assert ray.get([actor.pid.remote() for actor in actors], timeout=120) == pids


def test_more_actors_than_descriptors(program: Callable[..., Program]) -> None:
    """What cannot be had is told; when some are free again, work goes on."""
    driver = program(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        ray.init(address="local", num_cpus=2, log_to_driver=False)

        @ray.remote(num_cpus=0)
        class Actor:
            def one(self):
                return 1

        @ray.remote
        def two():
            return 2

        actors = [Actor.remote() for _ in range(60)]
        refs = [actor.one.remote() for actor in actors]
        told = set()
        for ref in refs:
            try:
                ray.get(ref, timeout=40)
            except ray.exceptions.GetTimeoutError:
                raise
            except ray.exceptions.RayError as error:
                told.add("too many open files" in str(error))
        say(told)
        actors.clear(), refs.clear()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                say(ray.get(two.remote(), timeout=30))
                break
            except ray.exceptions.RuntimeEnvSetupError:
                time.sleep(0.1)  # the actors are not gone yet
        """
    )
    assert driver.line(60) == "{True}"
    assert driver.line(60) == "2"
    assert driver.rest() == []


def test_a_store_that_is_full(fresh: Any) -> None:
    """It is told where nothing may be spilled; with room again, it works again."""
    ray = fresh
    off = {"automatic_object_spilling_enabled": False}
    ray.init(address="local", num_cpus=2, object_store_memory=80_000_000, log_to_driver=False, _system_config=off)

    @ray.remote
    def make(size: int) -> bytes:
        return bytes(size)

    held = [ray.put(bytes(10_000_000)) for _ in range(7)]
    for call in (lambda: ray.put(bytes(30_000_000)), lambda: ray.get(make.remote(30_000_000), timeout=LIMIT)):
        with pytest.raises(ray.exceptions.ObjectStoreFullError, match="object_store_memory"):
            call()
    assert all(len(value) == 10_000_000 for value in ray.get(held))
    del held
    assert len(ray.get(ray.put(bytes(50_000_000)))) == 50_000_000
    for _ in range(30):
        assert len(ray.get(make.remote(20_000_000), timeout=LIMIT)) == 20_000_000


def test_references_in_one_get_and_one_wait(ray: Any) -> None:
    @ray.remote
    def one(x: int) -> int:
        return x

    refs = [one.remote(i) for i in range(MANY)]
    ready, left = ray.wait(refs, num_returns=MANY, timeout=LIMIT)
    assert len(ready) == MANY and not left
    assert ray.get(refs, timeout=LIMIT) == list(range(MANY))


def test_arguments_of_one_task(ray: Any) -> None:
    @ray.remote
    def total(*values: int) -> int:
        return sum(values)

    assert ray.get(total.remote(*[ray.put(i) for i in range(MANY)]), timeout=LIMIT) == sum(range(MANY))


def test_results_of_one_task(ray: Any) -> None:
    @ray.remote(num_returns=3000)
    def many() -> range:
        return range(3000)

    assert ray.get(many.remote(), timeout=LIMIT) == list(range(3000))


def test_an_object_that_holds_references(ray: Any) -> None:
    @ray.remote
    def one(x: int) -> int:
        return x

    @ray.remote
    def total(refs: list[Any]) -> int:
        return sum(ray.get(refs))

    holder = ray.put([one.remote(i) for i in range(MANY)])
    assert ray.get(total.remote(holder), timeout=LIMIT) == sum(range(MANY))
    assert ray.get(ray.get(holder)[::100], timeout=LIMIT) == list(range(0, MANY, 100))


def test_waiting_one_by_one(ray: Any) -> None:
    @ray.remote
    def one(x: int) -> int:
        return x

    left = [one.remote(i) for i in range(1000)]
    found = []
    while left:
        ready, left = ray.wait(left, timeout=LIMIT)
        found += ray.get(ready)
    assert sorted(found) == list(range(1000))


def test_a_wide_tree_of_tasks(ray: Any) -> None:
    """Thousands of tasks that other tasks submit, combined by references."""

    @ray.remote
    def leaf(x: int) -> int:
        return x

    @ray.remote
    def add(*values: int) -> int:
        return sum(values)

    @ray.remote
    def grow(start: int) -> Any:
        return add.remote(*[leaf.remote(start + i) for i in range(100)])

    branches = ray.get([grow.remote(100 * i) for i in range(30)], timeout=LIMIT)
    assert ray.get(add.remote(*branches), timeout=LIMIT) == sum(range(3000))


def test_arguments_and_results_larger_than_a_message_together(ray: Any) -> None:
    """Each is small enough to travel in a message, a thousand of them are not."""
    data = bytes(90_000)

    @ray.remote
    def sizes(*values: bytes) -> int:
        return sum(map(len, values))

    @ray.remote(num_returns=1000)
    def many() -> list[bytes]:
        return [bytes(90_000)] * 1000

    @ray.remote
    class Actor:
        def sizes(self, *values: bytes) -> int:
            return sum(map(len, values))

        @ray.method(num_returns=1000)
        def many(self) -> list[bytes]:
            return [bytes(90_000)] * 1000

    refs = [ray.put(data) for _ in range(1000)]
    assert ray.get(sizes.remote(*refs), timeout=LIMIT) == 90_000_000
    assert all(value == data for value in ray.get(many.remote(), timeout=LIMIT))
    actor = Actor.remote()
    assert ray.get(actor.sizes.remote(*refs), timeout=LIMIT) == 90_000_000
    assert all(value == data for value in ray.get(actor.many.remote(), timeout=LIMIT))
    assert ray.get(Keeper.remote(*refs).count.remote(), timeout=LIMIT) == 1000


@eagleray.remote(num_cpus=0)
class Keeper:
    """Takes values in its constructor."""

    def __init__(self, *values: bytes) -> None:
        self.values = values

    def count(self) -> int:
        return len(self.values)
