"""Every way in which a reference can travel: what it refers to is there as long as it can be reached, and no longer."""

from __future__ import annotations

import copy
import dataclasses
import gc
import os
import pickle
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import eagleray
import numpy as np
import pytest
from arena import BIG, settles
from eagleray.util import ActorPool, inspect_serializability
from eagleray.util.queue import Queue

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)
# ruff: noqa: F821 -- names that functions close over are deleted here before these run


def big(tag: int) -> Any:
    """A value for the arena."""
    return np.full(BIG, tag)


def first(ref: Any) -> int:
    """The number that ``big`` was made of."""
    return int(eagleray.get(ref, timeout=LIMIT)[0])


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """After each test the store is as empty as before, and so is this process's table."""
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)
    yield
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)


class Failure(Exception):
    """Carries something."""

    def __init__(self, carried: Any = None) -> None:
        super().__init__("it failed")
        self.carried = carried


class TestCode:
    """Functions and classes capture references; workers keep functions that they have run."""

    def test_closure(self, ray: Any) -> None:
        ref = ray.put(big(1))

        @ray.remote
        def look() -> int:
            return first(ref)

        assert ray.get(look.remote(), timeout=LIMIT) == 1
        settles(objects=1)

    def test_defaults_and_other_options(self, ray: Any) -> None:
        ref = ray.put(big(1))

        @ray.remote
        def look(a: Any = (ref,), *, b: Any = ref) -> int:
            return first(a[0]) + first(b)

        assert ray.get([look.remote(), look.options(num_cpus=0.5).remote()], timeout=LIMIT) == [2, 2]

    def test_nobody_but_tasks_on_their_way_can_call_it(self, ray: Any) -> None:
        ref = ray.put(big(1))

        @ray.remote
        def wait() -> None:
            ray.get(gate.passed.remote(), timeout=LIMIT)

        @ray.remote(num_cpus=0, max_concurrency=2)
        class Gate:
            def __init__(self) -> None:
                self.open = threading.Event()

            def passed(self) -> None:
                self.open.wait(LIMIT)

            def unlock(self) -> None:
                self.open.set()

        @ray.remote
        def look(turn: Any) -> int:
            return first(ref)

        gate = Gate.remote()
        turn = wait.remote()
        found = [look.remote(turn) for _ in range(4)]
        del look, ref
        settles(objects=1)
        ray.get(gate.unlock.remote(), timeout=LIMIT)
        assert ray.get(found, timeout=LIMIT) == [1] * 4
        settles(objects=0)

    @pytest.mark.parametrize("kind", ["plain", "coroutine"])
    def test_run_by_a_worker_that_has_become_an_actor(self, ray: Any, kind: str) -> None:
        ref = ray.put(big(1))

        @ray.remote(resources={"slot": 2}, num_cpus=2)  # there is one worker at a time
        def look() -> int:
            return first(ref)

        @ray.remote(num_cpus=0)
        class Plain:
            def pid(self) -> int:
                return os.getpid()

        @ray.remote(num_cpus=0)
        class Coroutine:
            async def pid(self) -> int:
                return os.getpid()

        assert ray.get(look.remote(), timeout=LIMIT) == 1
        actors = [(Plain if kind == "plain" else Coroutine).remote() for _ in range(4)]
        ray.get([actor.pid.remote() for actor in actors], timeout=LIMIT)
        del look, ref
        settles(objects=0)

    def test_passed_on_and_called_elsewhere(self, ray: Any) -> None:
        ref = ray.put(big(1))

        def plain() -> int:
            return first(ref)

        @ray.remote
        def task() -> int:
            return first(ref)

        @ray.remote
        def call(function: Any, other: Any) -> int:
            return int(function() + ray.get(other.remote(), timeout=LIMIT))

        assert ray.get(call.remote(plain, task), timeout=LIMIT) == 2
        settles(objects=1)

    def test_a_task_that_submits_itself(self, ray: Any) -> None:
        ref = ray.put(big(1))

        @ray.remote
        def again(times: int) -> int:
            return first(ref) if times == 0 else int(ray.get(again.remote(times - 1), timeout=LIMIT))

        assert ray.get(again.remote(2), timeout=LIMIT) == 1

    def test_class(self, ray: Any) -> None:
        ref = ray.put(big(1))

        @ray.remote(max_restarts=1, max_task_retries=1)
        class Holder:
            kept = ref

            def look(self) -> int:
                return first(ref) + first(self.kept)

            def pid(self) -> int:
                return os.getpid()

        actor = Holder.remote()
        del Holder, ref
        assert ray.get(actor.look.remote(), timeout=LIMIT) == 2
        os.kill(ray.get(actor.pid.remote(), timeout=LIMIT), signal.SIGKILL)
        assert ray.get(actor.look.remote(), timeout=LIMIT) == 2
        settles(objects=1)
        del actor
        settles(objects=0)

    def test_after_a_crash(self, ray: Any, tmp_path: Path) -> None:
        ref = ray.put(big(1))
        mark = tmp_path / "crashed"

        @ray.remote(max_retries=1)
        def look() -> int:
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return first(ref)

        assert ray.get(look.remote(), timeout=LIMIT) == 1

    def test_looked_at_only(self, ray: Any) -> None:
        ref = ray.put(big(1))
        with open(os.devnull, "w") as nowhere:
            assert inspect_serializability(lambda: ref, print_file=nowhere)[0]
        del ref
        settles(objects=0)


class TestExceptions:
    """What an exception carries is there for who catches it."""

    def test_attribute(self, ray: Any) -> None:
        @ray.remote
        def fails() -> None:
            problem = Failure([ray.put(big(3))])
            raise problem  # its own frame names it: a cycle in the worker

        with pytest.raises(Failure) as caught:
            ray.get(fails.remote(), timeout=LIMIT)
        assert first(caught.value.carried[0]) == 3

    def test_those_that_were_retried(self, ray: Any) -> None:
        @ray.remote(max_retries=3, retry_exceptions=True)
        def fails() -> None:
            raise Failure(ray.put(big(3)))

        with pytest.raises(Failure) as caught:
            ray.get(fails.remote(), timeout=LIMIT)
        assert first(caught.value.carried) == 3
        settles(objects=1)

    def test_of_an_actor(self, ray: Any) -> None:
        @ray.remote
        class Fails:
            def fail(self, what: Any) -> None:
                raise Failure(what)

            async def fail_later(self, what: Any) -> None:
                raise Failure(what)

        actor = Fails.remote()
        for method in (actor.fail, actor.fail_later):
            with pytest.raises(Failure) as caught:
                ray.get(method.remote([ray.put(big(4))]), timeout=LIMIT)
            assert first(caught.value.carried[0]) == 4

    @pytest.mark.parametrize("how", ["streaming", 3])
    def test_of_a_generator(self, ray: Any, how: Any) -> None:
        kept = ray.put(big(1))

        @ray.remote(num_returns=how)
        def fails() -> Iterator[Any]:
            yield [ray.put(big(first(kept) + 1))]
            problem = Failure(ray.put(big(3)))
            raise problem

        refs = list(fails.remote())
        assert first(ray.get(refs[0], timeout=LIMIT)[0]) == 2
        with pytest.raises(Failure) as caught:
            ray.get(refs[-1], timeout=LIMIT)
        assert first(caught.value.carried) == 3


class TestValues:
    """Inside of what is put, passed and returned."""

    def test_everything_that_holds_things(self, ray: Any) -> None:
        @dataclasses.dataclass
        class Pair:
            a: Any
            b: Any

        refs = [ray.put(big(number)) for number in range(4)]
        array = np.empty(1, dtype=object)
        array[0] = refs[3]
        whole = ray.put({"pair": Pair(refs[0], [refs[1]]), refs[2]: "key", "array": array})
        del refs, array
        settles(objects=4)
        found = ray.get(whole)
        (key,) = (key for key in found if not isinstance(key, str))
        parts = [found["pair"].a, found["pair"].b[0], key, found["array"][0]]
        assert [first(part) for part in parts] == [0, 1, 2, 3]

    def test_keywords_and_constructors(self, ray: Any) -> None:
        @ray.remote
        def look(*, a: Any, b: Any) -> int:
            return int(a[0]) + first(b["ref"])

        @ray.remote
        class Holder:
            def __init__(self, kept: Any) -> None:
                self.kept = kept

            def look(self) -> int:
                return first(self.kept[0])

        assert ray.get(look.remote(a=ray.put(big(1)), b={"ref": ray.put(big(2))}), timeout=LIMIT) == 3
        actor = Holder.remote([ray.put(big(4))])
        assert ray.get(actor.look.remote(), timeout=LIMIT) == 4
        settles(objects=1)

    def test_a_constructor_that_runs_again(self, ray: Any) -> None:
        @ray.remote(max_restarts=1, max_task_retries=1)
        class Holder:
            def __init__(self, value: Any, kept: Any, large: Any) -> None:
                self.sum = int(value[0]) + first(kept[0]) + int(large[0])

            def look(self) -> int:
                return self.sum

            def pid(self) -> int:
                return os.getpid()

        actor = Holder.remote(ray.put(big(1)), [ray.put(big(2))], big(4))
        os.kill(ray.get(actor.pid.remote(), timeout=LIMIT), signal.SIGKILL)
        assert ray.get(actor.look.remote(), timeout=LIMIT) == 7
        del actor
        settles(objects=0)

    def test_actors_with_threads_and_coroutines(self, ray: Any) -> None:
        @ray.remote(max_concurrency=3)
        class Threads:
            def swap(self, refs: Any) -> Any:
                return [refs[0], ray.put(big(first(refs[0]) + 1))]

        @ray.remote
        class Loop:
            async def swap(self, refs: Any) -> Any:
                return [refs[0], ray.put(big(int((await refs[0])[0]) + 1))]

        for kind in (Threads, Loop):
            actor = kind.remote()
            found = ray.get([actor.swap.remote([ray.put(big(5))]) for _ in range(6)], timeout=LIMIT)
            assert [[first(ref) for ref in pair] for pair in found] == [[5, 6]] * 6

    def test_a_handle_inside_a_value(self, ray: Any) -> None:
        @ray.remote(num_cpus=0)
        class One:
            def one(self) -> int:
                return 1

        ref = ray.put({"actor": One.remote()})
        gc.collect()
        assert ray.get(ray.get(ref)["actor"].one.remote(), timeout=LIMIT) == 1

    def test_queue_and_pool(self, ray: Any) -> None:
        queue = Queue(actor_options={"num_cpus": 0})
        queue.put([ray.put(big(1))])
        settles(objects=1)
        assert first(queue.get(timeout=LIMIT)[0]) == 1
        settles(objects=0)
        queue.put(ray.put(big(2)))
        queue.get(timeout=LIMIT)
        queue.shutdown()

        @ray.remote(num_cpus=0)
        class Maker:
            def make(self, tag: int) -> Any:
                return big(tag)

        pool = ActorPool([Maker.remote(), Maker.remote()])
        found = pool.map_unordered(lambda actor, tag: actor.make.remote(tag), range(6))
        assert sorted(int(value[0]) for value in found) == list(range(6))
        del found
        settles(objects=0)

    @pytest.mark.parametrize(
        "bad", [lambda ref: [ref, threading.Lock()], lambda ref: {"a": ref, "b": threading.Lock()}]
    )
    def test_what_cannot_be_pickled(self, ray: Any, bad: Callable[[Any], Any]) -> None:
        @ray.remote
        def take(value: Any) -> None: ...

        @ray.remote
        def give() -> Any:
            return bad(ray.put(big(1)))

        with pytest.raises(TypeError):
            take.remote(bad(ray.put(big(1))))
        with pytest.raises(TypeError):
            ray.put(bad(ray.put(big(1))))
        with pytest.raises(TypeError):
            ray.get(give.remote(), timeout=LIMIT)


class TestInThisProcess:
    """Whatever Python does with an object."""

    def test_copies_weak_references_keys(self, ray: Any) -> None:
        ref = ray.put(big(1))
        same = [copy.copy(ref), *copy.deepcopy({"a": [ref]})["a"]]
        watch = weakref.ref(ref)
        keyed = {ref: 1}
        assert {*same, ref} == {ref}
        assert keyed[same[1]] == 1
        del same, keyed
        assert watch() is ref
        del ref
        assert watch() is None

    def test_cycles_threads_frames(self, ray: Any) -> None:
        def cycle() -> None:
            ring: list[Any] = [ray.put(big(1))]
            ring.append(ring)

        def frame() -> None:
            ref = ray.put(big(1))
            raise KeyError(str(ref))

        def generator() -> Iterator[Any]:
            ref = ray.put(big(1))
            yield 1
            yield ref

        local = threading.local()
        thread = threading.Thread(target=lambda: setattr(local, "ref", ray.put(big(1))))
        thread.start()
        thread.join()
        settles(objects=0)
        cycle()
        held = generator()
        next(held)
        settles(objects=1)
        with pytest.raises(KeyError) as caught:
            frame()
        settles(objects=2)  # the traceback has the frame, and that the reference
        del caught, held
        settles(objects=0)

    def test_many_come_and_go(self, ray: Any) -> None:
        for number in range(500):
            ref = ray.put(big(number))
            del ref
        settles(objects=0, owned=0)


class TestOutOfBand:
    """Pickled by the program itself: nobody can tell how long it is needed, so it stays for the session."""

    def test_stays(self, program: Any, tmp_path: Path) -> None:
        said = program(
            f"""
            import pickle, cloudpickle, numpy as np
            ray.init(address="local", num_cpus=1, log_to_driver=False)
            path = {str(tmp_path / "ref")!r}
            ref = ray.put(np.full(30_000, 7))
            with open(path, "wb") as file:
                pickle.dump({{"ref": ref}}, file)
            other = cloudpickle.dumps([ref])
            del ref
            gc.collect()

            @ray.remote
            def load():
                with open(path, "rb") as file:
                    return int(ray.get(pickle.load(file)["ref"])[0])

            assert ray.get(load.remote()) == 7
            assert int(ray.get(cloudpickle.loads(other)[0])[0]) == 7
            say("done")
            """
        ).rest()
        assert said == ["done"]

    def test_forbidden(self, ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RAY_allow_out_of_band_object_ref_serialization", "0")
        ref = ray.put(big(1))
        for dumps in (pickle.dumps, cloudpickle.dumps):
            with pytest.raises(eagleray.exceptions.OufOfBandObjectRefSerializationException, match="itself"):
                dumps([ref])

        @ray.remote
        def look(refs: Any) -> int:
            return first(refs[0]) + first(ref)

        assert ray.get(look.remote([ref]), timeout=LIMIT) == 2  # these are counted


def test_a_process_that_ends_with_references(program: Any) -> None:
    """Globals, thread locals, an exception that is being handled: the interpreter's end meets them all."""
    said = program(
        """
        import atexit
        import numpy as np
        ray.init(address="local", num_cpus=1, log_to_driver=False)
        kept = [ray.put(np.zeros(30_000)) for _ in range(10)]
        view = ray.get(kept[0])
        local = threading.local()
        local.ref = ray.put(1)
        ring = [kept]
        ring.append(ring)
        atexit.register(lambda: say(len(kept), view[0]))

        @ray.remote
        def f():
            return kept[1]

        last = f.remote()
        """
    ).rest()
    assert said == ["10 0.0"]
