"""Generators that end early, fail, are cancelled, or lose their worker or their items."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from generating import LIMIT, Diary, closes, count, drained
from pace import Calm, until


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def test_a_worker_that_dies_halfway_is_gone_on_from(ray: Any, diary: Diary) -> None:
    @ray.remote
    def dies(n: int, at: int) -> Any:
        diary.write("run")
        first = len(diary.read()) == 1
        for i in range(n):
            if first and i == at:
                until(lambda: "taken" in diary.read(), "what came before was taken")
                os.kill(os.getpid(), signal.SIGKILL)
            yield i if i % 2 else bytes([i]) * 200_000

    def check(gen: Any, n: int, at: int) -> None:
        for i in range(n):
            value = ray.get(next(gen), timeout=LIMIT)
            assert value == (i if i % 2 else bytes([i]) * 200_000)
            if i == at - 1:
                diary.write("taken")
        with pytest.raises(StopIteration):
            next(gen)

    check(dies.remote(7, 4), 7, 4)
    assert diary.read().count("run") == 2
    diary.path.unlink()
    gen = dies.options(max_retries=0).remote(7, 1)
    next(gen)
    diary.write("taken")
    assert drained(ray, gen) == ["WorkerCrashedError"]
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(gen.completed())


def test_a_list_whose_retry_raises_earlier_ends_with_the_exception(ray: Any, diary: Diary) -> None:
    def items() -> Any:
        diary.write("run")
        first = len(diary.read()) == 1
        for i in range(3):
            if i == 1 and not first:
                raise KeyError("oops")
            yield bytes([i]) * 200_000
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.warns(DeprecationWarning):
        listed = ray.remote(num_returns="dynamic", max_retries=1)(items).remote()
    found = list(ray.get(listed, timeout=LIMIT))
    assert len(found) == 2, "what the retry has yielded, and its exception"
    assert ray.get(found[0], timeout=LIMIT) == bytes(200_000)
    with pytest.raises(KeyError, match="oops"):
        ray.get(found[1], timeout=LIMIT)
    assert diary.read() == ["run"] * 2


def test_a_second_run_that_is_shorter_ends_there(ray: Any, diary: Diary) -> None:
    @ray.remote
    def shrinks() -> Any:
        diary.write("run")
        runs = len(diary.read())
        yield from range(5 if runs == 1 else 2)
        if runs == 1:
            until(lambda: "taken" in diary.read(), "all was taken")
            os.kill(os.getpid(), signal.SIGKILL)

    gen = shrinks.remote()
    assert ray.get([next(gen) for _ in range(5)]) == [0, 1, 2, 3, 4]
    diary.write("taken")
    assert drained(ray, gen) == []


def test_exceptions_are_retried_when_asked(ray: Any, diary: Diary) -> None:
    @ray.remote(max_retries=2, retry_exceptions=[ValueError])
    def flaky(good: int) -> Any:
        diary.write("run")
        run = len(diary.read())
        yield ("a", run)
        yield ("b", run)
        if run < good:
            raise ValueError
        yield ("c", run)

    assert drained(ray, flaky.remote(3)) == [("a", 1), ("b", 1), ("c", 3)]
    diary.path.unlink()
    assert drained(ray, flaky.options(max_retries=1).remote(9)) == [("a", 1), ("b", 1), "RayTaskError(ValueError)"]
    assert len(diary.read()) == 2
    for options, failed in (({"max_retries": 1}, True), ({"retry_exceptions": False}, False)):
        gen = flaky.options(**options).remote(9)
        if failed:  # as with Ray: what would have been tried again has failed as a whole
            with pytest.raises(ValueError):
                ray.get(gen.completed(), timeout=LIMIT)
        else:
            assert ray.get(gen.completed(), timeout=LIMIT) is None
        assert drained(ray, gen)[-1] == "RayTaskError(ValueError)"
        assert drained(ray, gen) == []


@pytest.mark.parametrize("kind", ["task", "actor"])
def test_what_was_yielded_before_os_exit_is_not_lost(ray: Any, kind: str) -> None:
    class Leaves:
        def items(self, n: int) -> Any:
            for i in range(n):
                yield i if i % 2 else bytes(150_000)
            os._exit(3)

    task = ray.remote(max_retries=0)(lambda n: (yield from Leaves().items(n)))
    actor = ray.remote(num_cpus=0)(Leaves)
    for _ in range(6):
        found = drained(ray, task.remote(5) if kind == "task" else actor.remote().items.remote(5))
        assert found[:5] == [i if i % 2 else bytes(150_000) for i in range(5)]
        assert found[5:] == ["WorkerCrashedError" if kind == "task" else "ActorDiedError"]


def test_one_that_is_let_go_early_is_closed(ray: Any, diary: Diary) -> None:
    gen = ray.remote(closes(diary)).options(_generator_backpressure_num_objects=3).remote()
    next(gen)
    del gen
    until(lambda: "closed" in diary.read(), "its finally block ran")

    def breaks() -> None:
        for ref in ray.remote(closes(diary)).options(_generator_backpressure_num_objects=3).remote():
            ray.get(ref)
            break

    breaks()
    until(lambda: diary.read().count("closed") == 2, "its finally block ran")


def test_one_of_which_nothing_was_wanted_runs_to_its_end(ray: Any, diary: Diary) -> None:
    def effects() -> Any:
        for i in range(20):
            diary.write(i)
            yield i

    limited = ray.remote(effects).options(_generator_backpressure_num_objects=2)
    limited.remote()
    until(lambda: len(diary.read()) == 20, "it went on")
    done = limited.remote().completed()
    assert ray.get(done, timeout=LIMIT) is None
    assert len(diary.read()) == 40


def test_cancelling(ray: Any, diary: Diary) -> None:
    @ray.remote
    def slow() -> Any:
        try:
            yield 1
            diary.write("sleeps")
            time.sleep(60)
        finally:
            diary.write("closed")

    gen = slow.remote()
    assert ray.get(next(gen)) == 1
    until(diary.read, "it sleeps")
    ray.cancel(gen)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(next(gen))
    with pytest.raises(StopIteration):
        next(gen)
    assert diary.read() == ["sleeps", "closed"]
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(gen.completed())

    gen = slow.remote()
    next(gen)
    ray.cancel(gen, force=True)
    assert drained(ray, gen) == ["TaskCancelledError"]

    # One that waits for its items to be taken, and one that has not begun.
    gen = ray.remote(closes(diary)).options(_generator_backpressure_num_objects=1).remote()
    next(gen)
    ray.cancel(gen)
    assert drained(ray, gen)[-1] == "RayTaskError(TaskCancelledError)"
    late = ray.remote(count).options(resources={"slot": 2})
    holder = ray.remote(closes(diary)).options(resources={"slot": 2}, _generator_backpressure_num_objects=1).remote()
    next(holder)
    gen = late.remote(3)
    ray.cancel(gen)
    assert drained(ray, gen) == ["TaskCancelledError"]


def test_ctrl_c_while_waiting_for_an_item(ray: Any, diary: Diary) -> None:
    @ray.remote
    def stuck() -> Any:
        until(diary.read, "it may end")
        yield 1

    gen = stuck.remote()
    main = threading.main_thread().ident
    assert main is not None
    with Calm() as clock:
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(gen)
        assert clock() < 2
    diary.write("go")
    assert drained(ray, gen) == [1]


def test_a_large_exception_that_is_lost_is_raised_again(ray: Any, diary: Diary) -> None:
    from eagleray._private.internal_api import _lose

    @ray.remote
    def make() -> Any:
        diary.write("run")
        yield bytes([1]) * 300_000
        raise ValueError(f"run {len(diary.read())}", "x" * 300_000)

    refs = list(make.remote())
    with pytest.raises(ValueError, match="run 1"):
        ray.get(refs[1], timeout=LIMIT)
    _lose([refs[1]])
    with pytest.raises(ValueError, match="run 2"):
        ray.get(refs[1], timeout=LIMIT)
    assert ray.get(refs[0], timeout=LIMIT)[0] == 1
    assert diary.read() == ["run"] * 2


def test_a_second_run_that_raises_gives_lost_items_its_exception(ray: Any, diary: Diary) -> None:
    from eagleray._private.internal_api import _lose

    @ray.remote
    def make() -> Any:
        diary.write("run")
        for i in range(6):
            if i == 2 and len(diary.read()) > 1:
                raise ValueError("the second time")
            yield bytes([i]) * 300_000

    refs = list(make.remote())
    _lose([refs[1], refs[3], refs[5]])
    for i, ref in enumerate(refs):
        if i in (3, 5):
            with pytest.raises(ValueError, match="the second time"):
                ray.get(ref, timeout=LIMIT)
        else:
            assert ray.get(ref, timeout=LIMIT)[0] == i
    assert diary.read() == ["run"] * 2


def test_lost_items_are_made_again(ray: Any, diary: Diary) -> None:
    from eagleray._private.internal_api import _lose

    @ray.remote
    def make(n: int, then: int) -> Any:
        diary.write("run")
        runs = len(diary.read())
        for i in range(n if runs == 1 else then):
            yield bytes([i]) * 300_000 if i % 2 else i

    def check(refs: list[Any], wanted: list[int]) -> None:
        assert [value if isinstance(value, int) else value[0] for value in ray.get(refs, timeout=LIMIT)] == wanted

    refs = list(make.remote(8, 1_000_000_000))
    check(refs, list(range(8)))
    _lose([refs[1], refs[5]])
    check(refs, list(range(8)))
    assert diary.read() == ["run"] * 2, "and the second run ended with the last of them"

    diary.path.unlink()
    gen = make.remote(8, 8)
    ray.get(gen.completed())
    untaken = list(gen)
    _lose(untaken[1::2])
    del refs
    check(untaken, list(range(8)))

    diary.path.unlink()
    refs = list(make.remote(8, 4))
    _lose([refs[1], refs[5]])
    check(refs[:4], [0, 1, 2, 3])
    with pytest.raises(ray.exceptions.StreamingGeneratorReplayInconsistentError):
        ray.get(refs[5], timeout=LIMIT)

    diary.path.unlink()
    with pytest.warns(DeprecationWarning):
        listed = make.options(num_returns="dynamic").remote(6, 6)
    refs = list(ray.get(listed))
    _lose([refs[3]])
    check(refs, list(range(6)))

    @ray.remote(max_restarts=1, max_task_retries=1)
    class A:
        def make(self, n: int) -> Any:
            for i in range(n):
                yield bytes([i]) * 300_000

    a = A.remote()
    refs = list(a.make.remote(4))
    _lose([refs[2]])
    check(refs, [0, 1, 2, 3])
    once = list(a.make.options(max_task_retries=0).remote(2))
    _lose([once[1]])
    with pytest.raises(ray.exceptions.ObjectLostError):
        ray.get(once[1], timeout=LIMIT)


def test_items_lost_while_others_are_to_come(ray: Any, diary: Diary, tmp_path: Path) -> None:
    """The generator runs a second time beside the first run, which goes on where it is."""
    from eagleray._private.internal_api import _lose

    gate = tmp_path / "gate"

    @ray.remote
    def make(n: int) -> Any:
        diary.write("run")
        for i in range(n):
            while i == n - 1 and not gate.exists():
                time.sleep(0.005)
            yield bytes([i]) * 300_000

    def first(ref: Any) -> int:
        value: bytes = ray.get(ref, timeout=LIMIT)
        return value[0]

    for limit in (-1, 1):
        gen = make.options(_generator_backpressure_num_objects=limit).remote(6)
        refs = [next(gen) for _ in range(4)]
        assert _lose([refs[0], refs[2]]) == 2
        assert [first(ref) for ref in refs] == [0, 1, 2, 3]
        assert _lose(refs[1]) == 1
        assert first(refs[1]) == 1
        refs.append(next(gen))
        assert not ray.wait([gen.completed()], timeout=0)[0], "the second run ended the first"
        gate.touch()
        refs += gen
        assert [first(ref) for ref in refs] == [0, 1, 2, 3, 4, 5]
        assert ray.get(gen.completed(), timeout=LIMIT) is None
        assert _lose([refs[5], refs[0]]) == 2
        assert [first(ref) for ref in refs] == [0, 1, 2, 3, 4, 5]
        assert diary.read() == ["run"] * 4
        gate.unlink()
        diary.path.unlink()

    gen = make.options(max_retries=0).remote(2)
    once = next(gen)
    _lose(once)
    with pytest.raises(ray.exceptions.ObjectReconstructionFailedError, match="max_retries=0"):
        ray.get(once, timeout=LIMIT)
    gate.touch()
    assert first(next(gen)) == 1
