"""``util.multiprocessing.Pool``: what the standard library's pool does, ours does, too."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import multiprocessing.pool
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.util.multiprocessing import Pool
from pace import PATIENCE_S

started = "not yet"


class Own(Exception):
    def __init__(self, first: str, second: int) -> None:
        super().__init__(first, second)
        self.second = second


class Odd(Exception):
    """Cannot be unpickled: its constructor needs more than it keeps."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


class Counting:
    """A callable with a state."""

    calls = 0

    def __call__(self, _: int) -> int:
        self.calls += 1
        return self.calls


def double(x: int) -> int:
    return 2 * x


def add(a: int, b: int = 0) -> int:
    return a + b


def odd_fails(x: int) -> int:
    if x % 2:
        raise Own(f"{x} is odd", x)
    return x


def call_it(func: Any, args: Any) -> Any:
    return func(*args)


def call_both(first: Any, args: Any, second: Any, others: Any) -> Any:
    first(*args)
    return second(*others)


def raises_odd() -> None:
    raise Odd("a", "b")


def gives_an_exception(x: int) -> Exception:
    return KeyError(x)


def ends_here(_: Any = None) -> None:
    raise StopIteration("not the end")


def set_started(value: str) -> None:
    global started
    started = value


def get_started(_: Any = None) -> str:
    return started


def pid(_: Any = None) -> int:
    return os.getpid()


def wait_for(path: str) -> str:
    while not Path(path).exists():
        threading.Event().wait(0.005)
    return path


def fails_after(path: str, x: int) -> int:
    wait_for(path)
    return odd_fails(x)


def dies() -> None:
    os._exit(3)


def not_there(_: Any) -> Any:
    return threading.Lock()


@pytest.fixture(params=["ours", "the standard one"])
def each(request: pytest.FixtureRequest, ray: Any) -> Iterator[Any]:
    """A pool of two processes: Eagle Ray's, and that of the standard library."""
    made = Pool(2) if request.param == "ours" else multiprocessing.get_context("spawn").Pool(2)
    with made as pool:
        yield pool


@pytest.fixture
def pool(ray: Any) -> Iterator[Any]:
    with Pool(2) as made:
        yield made


def test_calls_give_the_same_as_in_the_standard_pool(each: Any) -> None:
    assert each.apply(add, (1, 2)) == 3
    assert each.apply(add, (1,), {"b": 5}) == 6
    assert each.apply(add, (1,), kwds={"b": 6}) == 7
    assert each.apply_async(add, (1,)).get(PATIENCE_S) == 1
    for chunksize in (None, 1, 3, 100):
        assert each.map(double, range(10), chunksize) == [2 * x for x in range(10)]
        assert each.starmap(add, [(1, 2), (3,)], chunksize) == [3, 3]
        assert each.map_async(double, iter([4, 5]), chunksize).get(PATIENCE_S) == [8, 10]
        assert each.starmap_async(add, ((x, x) for x in range(3)), chunksize=chunksize).get(PATIENCE_S) == [0, 2, 4]
    for chunksize in (1, 4, 100):
        assert list(each.imap(double, range(10), chunksize)) == [2 * x for x in range(10)]
        assert sorted(each.imap_unordered(double, iter(range(10)), chunksize)) == [2 * x for x in range(10)]
    assert each.map(double, []) == [] and list(each.imap(double, ())) == []
    assert each.map(double, {3}) == [6] and each.map(len, {"abc": 1}) == [3] and each.map(str.upper, "ab") == ["A", "B"]
    assert each.map(functools.partial(add, b=1), [1, 2]) == [2, 3]
    assert [str(found) for found in each.map(gives_an_exception, [1, 2])] == ["1", "2"]  # no failures: values


def test_exceptions_come_as_in_the_standard_pool(each: Any) -> None:
    for call in (
        lambda: each.map(odd_fails, [0, 2, 5], 1),
        lambda: each.apply(odd_fails, (5,)),
        lambda: each.starmap(odd_fails, [(5,)]),
        lambda: list(each.imap(odd_fails, [4, 5])),
        lambda: list(each.imap_unordered(odd_fails, [5])),
        lambda: each.map_async(odd_fails, [5]).get(PATIENCE_S),
    ):
        with pytest.raises(Own) as caught:
            call()
        assert caught.value.args == ("5 is odd", 5) and caught.value.second == 5
        assert "raise Own(" in str(caught.value.__cause__)  # the traceback of the worker
    iterator = each.imap(odd_fails, [0, 1, 2])
    assert next(iterator) == 0
    with pytest.raises(Own):
        next(iterator)
    assert next(iterator) == 2
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_the_first_exception_in_the_order_of_the_items_counts(pool: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first: list[Exception] = []

    def note(error: Exception) -> None:
        first.append(error)
        gate.touch()

    calls = [(fails_after, (str(gate), 5)), (odd_fails, (7,))]
    result = pool.starmap_async(call_it, calls, chunksize=1, error_callback=note)
    with pytest.raises(Own, match="5 is odd"):
        result.get(PATIENCE_S)
    assert [error.args[0] for error in first] == ["7 is odd"]  # the callback gets the one that comes first


def test_a_call_that_raises_stop_iteration_does_not_end_the_map(pool: Any) -> None:
    with pytest.raises(StopIteration, match="not the end"):
        pool.apply(ends_here, (1,))
    with pytest.raises(StopIteration, match="not the end"):
        pool.map(ends_here, [1, 2])


def test_results_tell_how_they_are_as_in_the_standard_pool(each: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    result = each.apply_async(wait_for, (str(gate),))
    assert not result.ready()
    with pytest.raises(ValueError, match="not ready"):
        result.successful()
    for timeout in (0, 0.02, -1):
        assert result.wait(timeout) is None
        with pytest.raises(multiprocessing.TimeoutError):
            result.get(timeout)
    iterator = each.imap(wait_for, [str(gate)])
    with pytest.raises(multiprocessing.TimeoutError):
        iterator.next(timeout=0.02)
    gate.touch()
    assert iterator.next(timeout=PATIENCE_S) == str(gate)
    assert result.get() == str(gate) and result.get() == str(gate)
    assert result.ready() and result.successful()
    failed = each.map_async(odd_fails, [1])
    failed.wait(PATIENCE_S)
    assert failed.ready() and not failed.successful()
    for _ in range(2):
        with pytest.raises(Own):
            failed.get()


def test_callbacks_run_before_get_returns_as_in_the_standard_pool(each: Any) -> None:
    good: list[Any] = []
    bad: list[Any] = []
    both = {"callback": good.append, "error_callback": bad.append}
    assert each.apply_async(add, (1, 2), **both).get(PATIENCE_S) == 3
    assert each.map_async(double, [1, 2, 3], 1, **both).get(PATIENCE_S) == [2, 4, 6]
    assert each.starmap_async(add, [(1, 1)], **both).get(PATIENCE_S) == [2]
    assert good == [3, [2, 4, 6], [2]] and bad == []
    for result in (each.apply_async(odd_fails, (1,), **both), each.map_async(odd_fails, [1, 3, 2], 1, **both)):
        with pytest.raises(Own):
            result.get(PATIENCE_S)
    assert len(good) == 3 and [type(error) for error in bad] == [Own, Own]


def test_a_pool_that_was_ended_takes_nothing_as_in_the_standard_pool(each: Any) -> None:
    with pytest.raises(ValueError, match="still running"):
        each.join()
    result = each.map_async(double, range(20), 1)
    iterator = each.imap(double, range(20))
    each.close()
    each.close()
    calls = [
        lambda: each.apply(double, (1,)),
        lambda: each.apply_async(double, (1,)),
        lambda: each.map(double, [1]),
        lambda: each.starmap(add, [(1,)]),
        lambda: each.imap(double, [1]),
        lambda: each.imap_unordered(double, [1]),
        lambda: each.__enter__(),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="Pool not running"):
            call()
    each.join()
    assert result.get(PATIENCE_S) == list(iterator) == [2 * x for x in range(20)]
    each.terminate()
    each.join()
    for call in calls:
        with pytest.raises(ValueError, match="Pool not running"):
            call()
    with pytest.raises(NotImplementedError, match="cannot be passed"):
        pickle.dumps(each)


def test_arguments_are_taken_as_results_are_taken(pool: Any) -> None:
    taken = itertools.count()
    iterator = pool.imap_unordered(double, (next(taken) for _ in itertools.count()), 5)
    assert {next(iterator) for _ in range(10)} <= {2 * x for x in range(20)}
    assert 10 <= next(taken) <= 20


def test_an_iterable_that_raises_does_so_after_its_results(pool: Any) -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)
        raise Own("no more", 3)

    iterator = pool.imap(double, numbers())
    assert [next(iterator), next(iterator)] == [2, 4]
    with pytest.raises(Own):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(TypeError, match="not iterable"):
        pool.imap(double, 5)


def test_callbacks_may_fail_and_may_have_no_chunks(pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: shown.append(args.exc_value))
    got: list[Any] = []
    failing = pool.apply_async(add, (1,), callback=lambda value: 1 / 0)
    assert failing.get(PATIENCE_S) == 1 and failing.successful()
    assert [type(error) for error in shown] == [ZeroDivisionError]
    assert pool.map_async(double, [], callback=got.append).get(PATIENCE_S) == [] and got == [[]]
    pool.apply_async(add, (3,), callback=got.append)
    pool.close()
    pool.join()
    assert got == [[], 3]


def test_the_initializer_runs_in_each_process(ray: Any) -> None:
    for how in (get_started, functools.partial(get_started)):
        with Pool(2, set_started, ("set",)) as pool:
            assert pool.map(how, range(4), 1) == ["set"] * 4
    with pytest.raises(ray.exceptions.ActorDiedError, match="is odd"):
        Pool(2, odd_fails, (1,))


def test_an_initializer_of_the_main_program_sets_its_global_names(script: Any) -> None:
    done = script("""
        from eagleray.util.multiprocessing import Pool

        def start(value):
            global base
            base = value

        def shift(x):
            return base + x

        if __name__ == "__main__":
            with Pool(2, start, (40,)) as pool:
                print(pool.map(shift, [1, 2]), pool.apply(lambda x: base - x, (2,)))
    """)
    assert done.stdout == "[41, 42] 38\n"


def test_a_process_ends_after_maxtasksperchild_chunks(ray: Any) -> None:
    with Pool(1, maxtasksperchild=2) as pool:
        pids = pool.map(pid, range(12), 2)  # six chunks
        assert len(set(pids)) == 3 and all(pids[at] == pids[at + 3] for at in (0, 4, 8))
        results = [pool.apply_async(pid) for _ in range(4)]
        pool.close()
        pool.join()
        assert len({result.get(PATIENCE_S) for result in results}) == 2


def test_a_process_that_dies_is_replaced(ray: Any, tmp_path: Path) -> None:
    with Pool(1, set_started, ("again",)) as pool:
        before = pool.apply(pid)
        gate = tmp_path / "gate"
        waits = pool.apply_async(call_both, (wait_for, (str(gate),), dies, ()))
        behind = pool.map_async(get_started, range(3), 1)
        gate.touch()
        with pytest.raises(ray.exceptions.RayActorError):
            waits.get(PATIENCE_S)
        assert behind.get(PATIENCE_S) == ["again"] * 3  # in the successor
        assert pool.apply(get_started) == "again" and pool.apply(pid) != before


def test_terminate_ends_calls_that_run(ray: Any, tmp_path: Path) -> None:
    pool = Pool(2)
    results = [pool.apply_async(wait_for, (str(tmp_path / "never"),)) for _ in range(3)]
    called: list[Any] = []
    watched = pool.apply_async(wait_for, (str(tmp_path / "never"),), error_callback=called.append)
    pool.terminate()
    pool.join()
    for result in (*results, watched):
        with pytest.raises(ray.exceptions.RayActorError):
            result.get(PATIENCE_S)
    assert [isinstance(error, ray.exceptions.RayActorError) for error in called] == [True]


def test_functions_with_a_state_have_it_for_a_chunk_only(pool: Any) -> None:
    assert pool.map(Counting(), range(6), 3) == [1, 2, 3, 1, 2, 3]
    assert pool.map(Counting(), range(6), 3) == [1, 2, 3, 1, 2, 3]


def test_references_stay_references(ray: Any, pool: Any) -> None:
    ref = ray.put(5)
    assert pool.map(ray.get, [ref, ref]) == [5, 5]
    assert pool.apply(lambda x: ray.get(ref) + x, (1,)) == 6
    assert pool.apply(ray.get, (ref,)) == 5


def test_what_cannot_be_sent_is_an_error(ray: Any, pool: Any) -> None:
    with pytest.raises(RuntimeError, match="Odd: a"):
        pool.apply(raises_odd)
    with pytest.raises(TypeError, match="lock"):
        pool.map(not_there, [1])
    with pytest.raises(TypeError, match="lock"):
        pool.map(double, [threading.Lock()])
    assert pool.map(double, [1]) == [2]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda pool: Pool(0), ValueError, "must be >0"),
        (lambda pool: Pool("2"), TypeError, "processes must be a whole number"),
        (lambda pool: Pool(5), ValueError, "the cluster has 4"),
        (lambda pool: Pool(1, initializer=3), TypeError, "initializer must be a function"),
        (lambda pool: Pool(1, maxtasksperchild=0), ValueError, "maxtasksperchild"),
        (lambda pool: pool.map(5, [1]), TypeError, "must be a function, got int: 5"),
        (lambda pool: pool.map(double, [1], 0), ValueError, "chunksize must be at least 1, got 0"),
        (lambda pool: pool.imap(double, [1], -1), ValueError, "chunksize must be at least 1, got -1"),
        (lambda pool: pool.map(double, 5), TypeError, "not iterable"),
        (lambda pool: pool.starmap_async(add, [(1,)], 4), TypeError, "callback must be a function or None, got int"),
        (lambda pool: pool.apply(add, (1,), {"b": 1}, kwds={"b": 2}), TypeError, "not both"),
    ],
)
def test_wrong_arguments_are_named(pool: Any, call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(pool)


def test_options_of_the_actors_and_a_context(ray: Any) -> None:
    with Pool(2, ray_remote_args={"num_cpus": 1, "resources": {"slot": 1}}) as pool:
        assert pool.map(double, [1]) == [2]
        assert ray.available_resources()["CPU"] == 2 and ray.available_resources().get("slot", 0) == 0
    with pytest.warns(UserWarning, match="'context' of Pool has no effect"):
        Pool(1, context=multiprocessing.get_context("spawn")).terminate()


def test_a_pool_starts_a_session_with_its_processes(script: Any) -> None:
    done = script("""
        import eagleray as ray
        from eagleray.util.multiprocessing import Pool, pool, TimeoutError, JoinableQueue

        if __name__ == "__main__":
            with Pool(3) as made:
                print(ray.cluster_resources()["CPU"], made.map(abs, [-1, 2]), pool.Pool is Pool)
            ray.shutdown()
            with Pool(ray_address="local") as made:
                print(ray.is_initialized(), made.apply(abs, (-3,)))
    """)
    assert done.stdout == "3.0 [1, 2] True\nTrue 3\n"


def test_a_pool_works_inside_a_task(ray: Any) -> None:
    @ray.remote
    def inner() -> list[int]:
        with Pool(2) as pool:
            return pool.map(double, [1, 2, 3])

    assert ray.get(inner.remote(), timeout=PATIENCE_S) == [2, 4, 6]
