"""Actors with coroutines: their loop takes calls itself and must go on whatever a single call waits for."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def actor_class(session: Any) -> Any:
    import eagleray

    class Loop:
        def __init__(self) -> None:
            self.seen: list[int] = []
            self.gate = asyncio.Event()
            self.running = 0
            self.most = 0

        async def note(self, number: int, _: Any = None) -> int:
            self.seen.append(number)
            return number

        async def order(self) -> list[int]:
            seen, self.seen = self.seen, []
            return seen

        async def wait(self, _: Any = None) -> str:
            self.running += 1
            try:
                await self.gate.wait()
            finally:
                self.running -= 1
            return "opened"

        async def open(self) -> int:
            self.gate.set()
            return self.most

        async def rest(self, seconds: float) -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(seconds)
            self.running -= 1

        async def state(self) -> int:
            return self.running

        async def block(self, seconds: float) -> None:
            time.sleep(seconds)

        async def block_until(self, path: str) -> bool:
            for _ in range(6000):
                if os.path.exists(path):
                    return True
                time.sleep(0.01)
            return False

        async def pid(self) -> int:
            return os.getpid()

        async def get_in_a_thread(self, ref: list[Any]) -> Any:
            return await asyncio.get_running_loop().run_in_executor(None, eagleray.get, ref[0])

        async def echo_through_a_socket(self, text: str) -> str:
            reader, writer = await asyncio.open_unix_connection(self.path)  # type: ignore[attr-defined]
            writer.write(text.encode() + b"\n")
            line = await reader.readline()
            writer.close()
            return line.decode().strip()

        async def serve(self, path: str) -> None:
            self.path = path

            async def client(reader: Any, writer: Any) -> None:
                writer.write(await reader.readline())
                await writer.drain()
                writer.close()

            self.server = await asyncio.start_unix_server(client, path)

        async def on_signal(self) -> str:
            loop, came = asyncio.get_running_loop(), asyncio.Event()
            loop.add_signal_handler(signal.SIGUSR2, came.set)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR2)).start()
            await asyncio.wait_for(came.wait(), 10)
            return type(loop).__name__

        async def cancel_all(self) -> int:
            """Cancels what runs in the loop and what was to make its first step after this."""
            others = [task for task in asyncio.all_tasks() if task.get_coro().__qualname__.endswith(".call")]
            others.remove(asyncio.current_task())  # type: ignore[arg-type]
            return sum(task.cancel() for task in others)

    return eagleray.remote(num_cpus=0)(Loop)


def test_order_of_many_calls(ray: Any, actor_class: Any) -> None:
    actor = actor_class.remote()
    refs = [actor.note.remote(number) for number in range(3000)]
    assert ray.get(refs) == list(range(3000))
    assert ray.get(actor.order.remote()) == list(range(3000))


def test_a_call_that_waits_for_its_argument_holds_nobody(ray: Any, actor_class: Any) -> None:
    actor, other = actor_class.remote(), actor_class.remote()
    waiting = actor.wait.remote()
    late = other.wait.remote()
    refs = [actor.note.remote(1), actor.note.remote(2, late), actor.note.remote(3)]
    assert ray.get([refs[0], refs[2]], timeout=60) == [1, 3]
    assert ray.wait(refs[1:2], timeout=0)[0] == []
    ray.get(other.open.remote())
    assert ray.get(refs) == [1, 2, 3]
    assert ray.get(actor.order.remote()) == [1, 3, 2]
    ray.get(actor.open.remote())
    assert ray.get(waiting) == "opened"


def test_large_arguments_keep_the_order(ray: Any, actor_class: Any) -> None:
    actor = actor_class.remote()
    array = ray.put(np.ones(1 << 20, dtype=np.uint8))
    refs = [actor.note.remote(number, array if number % 3 == 0 else None) for number in range(300)]
    refs += [actor.note.remote(300 + number, np.zeros(200_000, dtype=np.uint8)) for number in range(20)]
    assert ray.get(refs) == list(range(320))
    assert ray.get(actor.order.remote()) == list(range(320))


@pytest.mark.parametrize("most", [1, 3, 100])
def test_no_more_at_a_time_than_asked_for(ray: Any, actor_class: Any, most: int) -> None:
    actor = actor_class.options(max_concurrency=most).remote()
    ray.get([actor.rest.remote(0.002) for _ in range(300)])
    found = ray.get(actor.open.remote())
    assert found == most if most < 10 else 3 < found <= most


def _answers(ray: Any, ref: Any) -> bool:
    try:
        ray.get(ref, timeout=30)
    except ray.exceptions.TaskCancelledError:
        return False
    return True


def test_the_loops_own_descriptors_are_served_under_a_flood(ray: Any, actor_class: Any, tmp_path: Any) -> None:
    actor = actor_class.remote()
    ray.get(actor.serve.remote(str(tmp_path / "s")))
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            ray.get([actor.pid.remote() for _ in range(200)])

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        texts = [f"text {number}" for number in range(50)]
        assert ray.get([actor.echo_through_a_socket.remote(text) for text in texts], timeout=30) == texts
    finally:
        stop.set()
        thread.join()


def test_answers_leave_while_the_loop_is_blocked(ray: Any, actor_class: Any, tmp_path: Path) -> None:
    actor = actor_class.remote()
    ray.get(actor.pid.remote())
    go_on = tmp_path / "go on"
    first, blocking = actor.note.remote(1), actor.block_until.remote(str(go_on))
    assert ray.get(first, timeout=30) == 1
    go_on.touch()
    assert ray.get(blocking), "the loop went on before the answer had left"


def test_threads_of_the_actor_may_wait_for_what_the_loop_does(ray: Any, actor_class: Any) -> None:
    actor, other = actor_class.remote(), actor_class.remote()
    waiting = other.wait.remote()
    got = [actor.get_in_a_thread.remote([waiting]) for _ in range(4)]
    for number in range(200):  # one of those threads may read the sockets meanwhile
        assert ray.get(actor.note.remote(number)) == number
    ray.get(other.open.remote())
    assert ray.get(got, timeout=30) == ["opened"] * 4


def test_signals_reach_the_loop(ray: Any, actor_class: Any) -> None:
    actor = actor_class.remote()
    assert ray.get(actor.on_signal.remote(), timeout=30) == "_UnixSelectorEventLoop"


def test_calls_are_cancelled_wherever_they_are(ray: Any, actor_class: Any) -> None:
    actor = actor_class.options(max_concurrency=50).remote()
    for _ in range(5):
        refs = [actor.wait.remote() for _ in range(100)]
        for ref in refs:
            ray.cancel(ref)
        assert not any(_answers(ray, ref) for ref in refs)
        assert ray.get(actor.state.remote(), timeout=30) == 0
    refs = [actor.note.remote(number) for number in range(500)]
    for ref in refs:
        ray.cancel(ref)
    answered = sum(_answers(ray, ref) for ref in refs)
    assert 0 <= answered <= 500
    assert ray.get(actor.pid.remote(), timeout=30)


def test_tasks_that_the_program_cancels_are_answered(ray: Any, actor_class: Any) -> None:
    actor = actor_class.remote()
    before = [actor.wait.remote() for _ in range(20)]
    count = actor.cancel_all.remote()
    after = [actor.wait.remote() for _ in range(40)]
    assert ray.get(count) >= 20
    ray.get(actor.open.remote())
    assert not any(_answers(ray, ref) for ref in before)
    answered = sum(_answers(ray, ref) for ref in after)
    assert answered == 60 - ray.get(count)


class _OwnLoop(asyncio.SelectorEventLoop):
    pass


class _OwnPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return _OwnLoop()


def _use_own_loops() -> None:
    asyncio.set_event_loop_policy(_OwnPolicy())


class _OnArrival:
    """Sets the policy where it is unpickled: before the actor's loop is made."""

    def __reduce__(self) -> Any:
        return _use_own_loops, ()


def test_a_loop_of_the_users_own_kind(ray: Any) -> None:
    class Actor:
        policy = _OnArrival()

        async def name(self, number: int) -> tuple[str, int]:
            await asyncio.sleep(0.001)
            return type(asyncio.get_running_loop()).__name__, number

    actor = ray.remote(num_cpus=0)(Actor).remote()
    kinds = ray.get([actor.name.remote(number) for number in range(300)], timeout=30)
    assert kinds == [("_OwnLoop", number) for number in range(300)]
    slow = [actor.name.remote(number) for number in range(100)]
    for ref in slow:
        ray.cancel(ref)
    for ref in slow:
        _answers(ray, ref)
    assert ray.get(actor.name.remote(1), timeout=30) == ("_OwnLoop", 1)
