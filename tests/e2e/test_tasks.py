"""Remote functions: calls, arguments, results, options."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest
from pace import PATIENCE_S


def test_remote_bare_and_with_options(ray: Any) -> None:
    @ray.remote
    def plain(x: int) -> int:
        return x + 1

    @ray.remote(num_cpus=0.5)
    def half(x: int) -> int:
        return x + 2

    assert ray.get(plain.remote(1)) == 2
    assert ray.get(half.remote(1)) == 3
    assert ray.get(plain.options(name="other", num_cpus=2).remote(5)) == 6
    assert ray.get([plain.remote(i) for i in range(20)]) == list(range(1, 21))


def test_arguments_of_every_form(ray: Any) -> None:
    @ray.remote
    def show(a: Any, /, b: Any, *rest: Any, c: Any = 3, **more: Any) -> Any:
        return a, b, rest, c, more

    assert ray.get(show.remote(1, 2)) == (1, 2, (), 3, {})
    assert ray.get(show.remote(1, b=2)) == (1, 2, (), 3, {})
    assert ray.get(show.remote(1, 2, 3, 4, c=5, d=6)) == (1, 2, (3, 4), 5, {"d": 6})
    assert ray.get(show.remote(None, [1], {"k": (1,)}, c=b"x")) == (None, [1], ({"k": (1,)},), b"x", {})


def test_references_are_resolved_at_top_level_and_passed_inside(ray: Any) -> None:
    @ray.remote
    def add(a: Any, b: Any = 0, *, c: Any = 0) -> Any:
        return a + b + c

    @ray.remote
    def kind(value: Any) -> str:
        return type(value[0]).__name__

    @ray.remote
    def follow(value: Any) -> Any:
        return ray.get(value["ref"])

    one = ray.put(1)
    assert ray.get(add.remote(one, one, c=one)) == 3
    assert ray.get(add.remote(add.remote(one, 2), c=add.remote(1))) == 4
    assert ray.get(kind.remote([one])) == "ObjectRef"
    assert ray.get(follow.remote({"ref": add.remote(3, 4)})) == 7


def test_results_by_number(ray: Any) -> None:
    @ray.remote(num_returns=3)
    def three() -> Any:
        return 1, "two", [3]

    @ray.remote(num_returns=2)
    def stream() -> Any:
        yield "a"
        yield "b"

    @ray.remote(num_returns=0)
    def none() -> Any:
        return None

    refs = three.remote()
    assert ray.get(refs) == [1, "two", [3]]
    assert ray.get(stream.remote()) == ["a", "b"]
    assert none.remote() is None
    assert ray.get(three.options(num_returns=1).remote()) == (1, "two", [3])


@pytest.mark.parametrize(("value", "problem"), [((1, 2, 3), ValueError), (1, TypeError)])
def test_wrong_number_of_results(ray: Any, value: Any, problem: type[Exception]) -> None:
    @ray.remote(num_returns=2)
    def two() -> Any:
        return value

    for ref in two.remote():
        with pytest.raises(problem) as caught:
            ray.get(ref)
        assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_stream_that_ends_early_keeps_what_it_gave(ray: Any) -> None:
    @ray.remote(num_returns=3)
    def stream() -> Any:
        yield 1
        raise KeyError("no more")

    first, second, third = stream.remote()
    assert ray.get(first) == 1
    for ref in (second, third):
        with pytest.raises(KeyError):
            ray.get(ref)


def test_tasks_submit_tasks_and_create_actors(ray: Any) -> None:
    @ray.remote
    def leaf(x: int) -> int:
        return x * x

    @ray.remote
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def add(self, n: int) -> int:
            self.n += n
            return self.n

    @ray.remote
    def tree(n: int) -> int:
        counter = Counter.remote()
        for value in ray.get([leaf.remote(i) for i in range(n)]):
            counter.add.remote(value)
        return ray.get(counter.add.remote(0))

    assert ray.get(tree.remote(5)) == 30


def test_recursion_deeper_than_cpus(ray: Any) -> None:
    @ray.remote
    def fib(n: int) -> int:
        return n if n < 2 else sum(ray.get([fib.remote(n - 1), fib.remote(n - 2)]))

    assert ray.get(fib.remote(6), timeout=60) == 8


def test_returned_references_live_on(ray: Any) -> None:
    @ray.remote
    def make() -> Any:
        return [ray.put("inner"), ray.put(list(range(50_000)))]

    small, large = ray.get(make.remote())
    assert ray.get(small) == "inner"
    assert len(ray.get(large)) == 50_000


def test_functions_see_what_they_captured(ray: Any) -> None:
    offset = {"n": 10}
    helper = lambda x: x + offset["n"]  # noqa: E731

    @ray.remote
    def use(x: int) -> int:
        return helper(x)

    assert ray.get(use.remote(1)) == 11
    offset["n"] = 20
    assert ray.get(use.remote(1)) == 11, "the function is pickled at its first call"


def test_local_class_round_trip(ray: Any) -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    @ray.remote
    def move(point: Any) -> Any:
        return type(point)(point.x + 1)

    back = ray.get(move.remote(Point(1)))
    assert isinstance(back, Point) and back.x == 2


def test_retries_after_exceptions(ray: Any, tmp_path: Any) -> None:
    log = tmp_path / "tries"

    @ray.remote(max_retries=3, retry_exceptions=[ConnectionError])
    def flaky(kind: type[Exception]) -> int:
        with open(log, "a") as file:
            file.write("x")
        if os.path.getsize(log) < 3:
            raise kind("not yet")
        return os.path.getsize(log)

    assert ray.get(flaky.remote(ConnectionError)) == 3
    log.unlink()
    with pytest.raises(ValueError):
        ray.get(flaky.remote(ValueError))
    assert log.read_text() == "x", "only the listed exceptions are retried"


def test_max_calls_ends_the_worker(ray: Any) -> None:
    @ray.remote(max_calls=1)
    def pid() -> int:
        return os.getpid()

    @ray.remote(max_calls=2)
    def pid2() -> int:
        return os.getpid()

    assert len(set(ray.get([pid.remote() for _ in range(4)]))) == 4
    pids = [ray.get(pid2.remote()) for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_workers_are_reused(ray: Any) -> None:
    @ray.remote
    def pid() -> int:
        return os.getpid()

    pids = {ray.get(pid.remote()) for _ in range(50)}
    assert len(pids) <= 4


def test_random_numbers_differ_between_workers(ray: Any) -> None:
    np = pytest.importorskip("numpy")

    @ray.remote(max_calls=1)
    def draw() -> tuple[float, float]:
        return random.random(), float(np.random.rand())

    drawn = ray.get([draw.remote() for _ in range(4)])
    assert len({a for a, _ in drawn}) == 4
    assert len({b for _, b in drawn}) == 4


def test_wait_splits(ray: Any) -> None:
    @ray.remote
    def after(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    quick = [after.remote(0) for _ in range(3)]
    slow = after.remote(300)
    ready, rest = ray.wait([*quick, slow], num_returns=3, timeout=PATIENCE_S)
    assert ready == quick and rest == [slow]
    assert ray.wait([slow], timeout=0) == ([], [slow])
    assert ray.wait([], num_returns=1) == ([], [])
    start = time.monotonic()
    assert ray.wait([slow], timeout=0.2)[0] == []
    assert 0.15 < time.monotonic() - start < 250, "the wait ends after its timeout, not with the task"
    ray.cancel(slow, force=True)


def test_ten_thousand_references_in_one_get_and_one_wait(ray: Any) -> None:
    @ray.remote
    def same(x: int) -> int:
        return x

    refs = [same.remote(i) for i in range(10_000)]
    ready, rest = ray.wait(refs, num_returns=len(refs), timeout=100)
    assert len(ready) == 10_000 and not rest
    assert ray.get(refs) == list(range(10_000))


def test_a_function_with_defaults_calls_itself(ray: Any) -> None:
    """Parameters and alternatives are the same where the function refers to itself, directly or through another."""

    @ray.remote(num_cpus=0)
    def down(n: int, step: int = 1, *, last: str = "end") -> str:
        return ray.get(down.remote(n - step)) if n > 0 else last

    def on_cpu(n: int, step: int = 1) -> list[int]:
        return [n, *(ray.get(either.remote(n - step)) if n else [])]

    @ray.remote(num_cpus=0, resources={"nowhere": 1}, fallback=[(on_cpu, {"num_cpus": 0})])
    def either(n: int, step: int = 1) -> list[int]:
        raise AssertionError("there is no such resource")

    assert ray.get(down.remote(3), timeout=60) == "end"
    assert ray.get(either.remote(3), timeout=60) == [3, 2, 1, 0]
