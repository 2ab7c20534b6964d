"""Failures that nobody has looked at are told of when the last reference to them goes."""

from __future__ import annotations

import gc
import logging
import os
import queue
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

HEAD = "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "


@pytest.fixture
def said() -> Iterator[Callable[[], str]]:
    """The next message of the runtime's logger; waits for it."""
    found: queue.Queue[str] = queue.Queue()

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.put(record.getMessage())

    keeper = Keeper()
    logging.getLogger("eagleray").addHandler(keeper)
    yield lambda: found.get(timeout=30)
    logging.getLogger("eagleray").removeHandler(keeper)


def raising(ray: Any) -> Any:
    @ray.remote(max_retries=0)
    def bad(text: str, *_: Any) -> None:
        raise ValueError(text)

    return bad


def test_tasks_and_calls_of_actors(ray: Any, said: Callable[[], str]) -> None:
    @ray.remote
    class Actor:
        def bad(self, text: str) -> None:
            raise ValueError(text)

        async def bad_later(self, text: str) -> None:
            raise ValueError(text)

    bad, actor = raising(ray), Actor.remote()
    two = bad.options(num_returns=2)
    for submit in (bad.remote, actor.bad.remote, actor.bad_later.remote, two.remote):
        submit("lost")
        text = said()
        assert text.startswith(HEAD + "eagleray::") and text.endswith("ValueError: lost")
        assert "Traceback" in text and "pid=" in text and f'"{__file__}"' in text


def test_generators(ray: Any, said: Callable[[], str]) -> None:
    @ray.remote
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("at the end")

    left = items.remote()
    assert ray.get(next(left)) == 1
    ray.wait([left.completed()])
    del left
    gc.collect()
    assert said().endswith("ValueError: at the end")


def test_a_generator_that_fails_at_an_item_that_was_fetched(ray: Any, said: Callable[[], str]) -> None:
    @ray.remote(num_returns="streaming", max_retries=0)
    def dies(value: Any = None) -> Iterator[int]:
        yield 1
        os._exit(3)

    bad = raising(ray)
    crashed = ray.exceptions.WorkerCrashedError
    for makes, error in ((dies.remote, crashed), (lambda: dies.remote(bad.remote("x")), ValueError)):
        with pytest.raises(error):
            for item in makes():
                ray.get(item)
        gc.collect()
        bad.remote("after")
        assert said().endswith("after")


def test_what_a_crash_lost(ray: Any, said: Callable[[], str]) -> None:
    @ray.remote(max_retries=0)
    def dies() -> None:
        os._exit(3)

    dies.remote()
    text = said()
    assert text.startswith(HEAD) and "dies" in text and "3" in text


def test_what_takes_a_failed_argument_tells_of_it(ray: Any, said: Callable[[], str]) -> None:
    bad = raising(ray)

    @ray.remote
    def takes(value: Any) -> None: ...

    @ray.remote(num_returns="streaming")
    def yields(value: Any) -> Iterator[Any]:
        yield value

    @ray.remote(num_cpus=0)
    class Actor:
        def takes(self, value: Any) -> None: ...

    @ray.remote(max_retries=0)
    def dies() -> None:
        os._exit(3)

    actor = Actor.remote()
    for submit in (takes.remote, actor.takes.remote, takes.options(num_returns=2).remote, yields.remote):
        submit(bad.remote("taken"))
        gc.collect()
        assert said().endswith("ValueError: taken")
    looked_at = bad.remote("looked at before")
    ray.wait([looked_at], timeout=30)
    takes.remote(looked_at)
    assert said().endswith("ValueError: looked at before")
    takes.remote(dies.remote())
    assert "dies" in said()
    with pytest.raises(ValueError):
        ray.get(takes.remote(bad.remote("fetched")))
    bad.remote("after")
    assert said().endswith("after")


def test_calls_of_an_actor_whose_constructor_raised_are_not_told_of(ray: Any, said: Callable[[], str]) -> None:
    @ray.remote(num_cpus=0)
    class Actor:
        def __init__(self, value: Any = None) -> None:
            raise ValueError("constructor")

        def method(self) -> None: ...

    for actor in (Actor.remote(), Actor.remote(raising(ray).remote("argument"))):
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(actor.method.remote())
        actor.method.remote()
        raising(ray).remote("after")
        assert said().endswith("after")


def test_what_somebody_looked_at(ray: Any, said: Callable[[], str]) -> None:
    bad = raising(ray)

    @ray.remote
    def gets(inside: list[Any]) -> str:
        try:
            ray.get(inside[0])
        except ValueError as error:
            return str(error.args[0]) if error.args else "?"
        return "nothing"

    def fetch(ref: Any) -> None:
        with pytest.raises(ValueError):
            ray.get(ref)

    def future(ref: Any) -> None:
        with pytest.raises(ValueError):
            ref.future().result(timeout=30)

    def argument(ref: Any) -> None:
        with pytest.raises(ValueError):
            ray.get(bad.remote("not run", ref))

    looks: list[Callable[[Any], Any]] = [
        fetch,
        future,
        argument,
        lambda ref: ray.wait([ref]),
        lambda ref: ray.get(gets.remote([ref])),
    ]
    for number, look in enumerate(looks):
        look(bad.remote("seen"))
        gc.collect()
        bad.remote(f"after {number}")
        assert said().endswith(f"after {number}")


def test_the_cancelled_are_not_told_of(ray: Any, said: Callable[[], str]) -> None:
    @ray.remote
    def waits(started: Any) -> None:
        ray.get(started.set.remote())
        while True:
            pass

    @ray.remote(num_cpus=0)
    class Flag:
        def set(self) -> None: ...

        def bad(self) -> None:
            raise ValueError("killed")

    flag = Flag.remote()
    ref = waits.remote(flag)
    ray.get(flag.set.remote())
    ray.cancel(ref)
    ray.wait([ref], timeout=30)
    del ref
    ray.kill(flag)
    flag.bad.remote()
    raising(ray).remote("after")
    assert said().endswith("after")


def test_workers_tell_on_their_standard_error(script: Any) -> None:
    done = script(
        """
        import logging, sys, threading
        import eagleray as ray

        came = threading.Event()

        class Out:  # the driver's standard error, on which workers' lines come
            def write(self, text):
                sys.__stderr__.write(text)
                if "bad-inside" in text and "raise" not in text:
                    came.set()
            def flush(self):
                sys.__stderr__.flush()

        sys.stderr = Out()
        ray.init(num_cpus=2)

        @ray.remote(max_retries=0)
        def bad():
            raise ValueError("bad-" + "inside")

        @ray.remote
        def outer():
            ref = bad.remote()
            ray.get(later.remote())  # its answer comes after that of the other, or the worker waits for it
            del ref

        @ray.remote
        def later():
            return 1

        ray.get(outer.remote())
        assert came.wait(30)
        """
    )
    assert re.search(r"\(outer pid=\d+\) " + re.escape(HEAD) + r"eagleray::bad\(\)", done.stderr)


def test_many_are_counted_and_silence_can_be_had(script: Any) -> None:
    program = """
        import eagleray as ray

        ray.init(num_cpus=2)

        @ray.remote(max_retries=0)
        def bad(i):
            raise ValueError(f"bad-{i}")

        for i in range(2000):
            bad.remote(i)
        ray.wait([bad.remote("last")])  # all but a few run before it
        ray.shutdown()
    """
    loud = script(program).stderr
    assert 10 <= loud.count(HEAD) <= 30
    assert "more within 5s that nobody fetched" in loud and len(loud) < 20_000
    quiet = script(program, env={**os.environ, "RAY_IGNORE_UNHANDLED_ERRORS": "1"}).stderr
    assert "Unhandled" not in quiet
