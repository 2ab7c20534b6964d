"""Every way to crash, stop or hang, at every kind of process: it ends or is isolated, others go on, errors say why.

What test_crashes.py, test_daemon_ends.py and test_driver_ends.py show already is not repeated here.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from halt import halt
from pace import Calm, bare_start
from processes import alive, marked, name, state, until
from program import Program

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def mostly_slow(names: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters of which all but the quick ones run with --slow only."""
    return [item if item in quick else pytest.param(item, marks=pytest.mark.slow) for item in names]


def closes_all() -> None:
    """Takes every descriptor away from the process, then works on."""
    os.closerange(3, 4096)
    time.sleep(60)


def hangs_in_c() -> None:
    """Computes without ever letting the interpreter go on."""
    re.match(r"(a*)*b", "a" * 40)


def holds_the_lock() -> None:
    """Sleeps in C with the interpreter's lock."""
    ctypes.PyDLL(None).sleep(60)


def leaves_a_child() -> None:
    """Ends, but a child goes on that has all its sockets."""
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    os._exit(5)


ENDS: dict[str, tuple[Callable[[], Any], str]] = {
    "closes all": (closes_all, "SIGKILL|SIGABRT"),
    "leaves a child": (leaves_a_child, "code 5"),
}
HANGS: dict[str, Callable[[], Any]] = {
    "in C": hangs_in_c,
    "with the lock": holds_the_lock,
    "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


def workers() -> list[int]:
    """The worker processes of the shared session."""
    return [pid for pid in marked(os.environ["EAGLERAY_ROBUST_MARK"]) if name(pid) == "eagleray-worker"]


@contextlib.contextmanager
def nothing_lost(ray: Any) -> Iterator[None]:
    """Afterwards all resources are free and work goes on in both CPUs."""
    yield
    until(lambda: ray.available_resources().get("CPU") == 2, LIMIT, "the CPUs come back")
    assert ray.get([ray.remote(lambda i: i).remote(i) for i in range(4)], timeout=LIMIT) == [0, 1, 2, 3]


@pytest.mark.parametrize("end", mostly_slow(ENDS))
def test_a_task_that_ends_its_worker(ray: Any, end: str) -> None:
    dies, told = ENDS[end]

    @ray.remote(max_retries=0)
    def task() -> None:
        dies()

    with nothing_lost(ray), pytest.raises(ray.exceptions.WorkerCrashedError, match=told):
        ray.get(task.remote(), timeout=LIMIT)


@pytest.mark.parametrize("end", mostly_slow(ENDS, "leaves a child"))
def test_an_actor_that_ends_its_worker(ray: Any, end: str) -> None:
    dies, told = ENDS[end]

    @ray.remote(num_cpus=1)
    class Actor:
        def die(self) -> None:
            dies()

    actor = Actor.remote()
    with nothing_lost(ray), pytest.raises(ray.exceptions.ActorDiedError, match=told):
        ray.get(actor.die.remote(), timeout=LIMIT)


@pytest.mark.parametrize("hang", mostly_slow(HANGS))
def test_a_task_that_hangs(ray: Any, hang: str) -> None:
    """Others run beside it, and it can be cancelled by force."""
    hangs = HANGS[hang]

    @ray.remote
    def task() -> None:
        open(f"/proc/{os.getpid()}/comm", "w").write("hanging")
        hangs()

    with nothing_lost(ray):
        stuck = task.remote()
        until(lambda: any(name(pid) == "hanging" for pid in marked(os.environ["EAGLERAY_ROBUST_MARK"])), LIMIT)
        assert ray.get([ray.remote(lambda i: i).remote(i) for i in range(20)], timeout=LIMIT) == list(range(20))
        ray.cancel(stuck, force=True)
        with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
            ray.get(stuck, timeout=LIMIT)


@pytest.mark.parametrize("hang", mostly_slow(HANGS, "stopped"))
def test_an_actor_that_hangs(ray: Any, hang: str) -> None:
    hangs = HANGS[hang]

    @ray.remote(num_cpus=1)
    class Actor:
        def pid(self) -> int:
            return os.getpid()

        def hang(self) -> None:
            hangs()

    actor = Actor.remote()
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    with nothing_lost(ray):
        stuck, behind = actor.hang.remote(), actor.pid.remote()
        assert not ray.wait([stuck, behind], timeout=0.1)[0]
        assert ray.get(ray.remote(lambda: 1).remote(), timeout=LIMIT) == 1
        ray.kill(actor)
        for ref in (stuck, behind):
            with pytest.raises(ray.exceptions.ActorDiedError):
                ray.get(ref, timeout=LIMIT)
        until(lambda: not alive(pid), LIMIT)


@pytest.mark.parametrize(
    "number", mostly_slow([signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM], signal.SIGSEGV)
)
def test_idle_workers_that_end(ray: Any, number: int) -> None:
    """Nobody is told anything: the next task finds another one."""

    @ray.remote(max_retries=0)
    def pid() -> int:
        return os.getpid()

    with nothing_lost(ray):
        idle = ray.get(pid.remote(), timeout=LIMIT)
        until(lambda: ray.available_resources().get("CPU") == 2, LIMIT)  # its lease went back
        killed = workers()
        for worker in killed:
            os.kill(worker, number)
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in killed), LIMIT)
        assert ray.get(pid.remote(), timeout=LIMIT) != idle


def test_idle_workers_that_end_with_an_actor_that_has_not_begun(ray: Any) -> None:
    """It gets another worker, as if the first had never been: that costs no restart."""

    @ray.remote
    class Actor:
        def pid(self) -> int:
            return os.getpid()

    @ray.remote(max_retries=0)
    def pid() -> int:
        return os.getpid()

    with nothing_lost(ray):
        for options in ({"max_restarts": 0}, {"max_restarts": 1}):
            ray.get(pid.remote(), timeout=LIMIT)
            until(lambda: ray.available_resources().get("CPU") == 2, LIMIT)
            stopped = workers()
            halt(*stopped)
            actor = Actor.options(num_cpus=1, **options).remote()
            until(lambda: ray.available_resources().get("CPU") == 1, LIMIT)  # one of them is to become it
            for worker in stopped:
                os.kill(worker, signal.SIGKILL)
            assert ray.get(actor.pid.remote(), timeout=LIMIT) not in stopped
            del actor


def test_a_fresh_worker_is_there_at_once(ray: Any) -> None:
    """From the kill to the next task's start in a process that replaces the killed one, beside a bare interpreter's."""

    @ray.remote
    def begun() -> tuple[float, int]:
        return time.monotonic(), os.getpid()

    took, bare = [], []
    for _ in range(9):
        bare.append(bare_start())
        _, pid = ray.get(begun.remote(), timeout=LIMIT)
        for other in workers():
            if other != pid:
                os.kill(other, signal.SIGKILL)
        start = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        began, other = ray.get(begun.remote(), timeout=LIMIT)
        assert other != pid
        took.append(began - start)
    print("replacement, ms:", [round(1000 * t, 1) for t in sorted(took)])
    # On a quiet machine 20 ms beside 10 ms for a bare interpreter.
    assert sorted(took)[len(took) // 2] < 8 * sorted(bare)[len(bare) // 2], (took, bare)


@pytest.mark.parametrize("number", mostly_slow([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], signal.SIGSEGV))
def test_zygotes_that_end_while_they_fork(ray: Any, number: int) -> None:
    """What they owe is forked by the next one."""

    @ray.remote(num_cpus=0)
    class Actor:
        def pid(self) -> int:
            return os.getpid()

    mark = os.environ["EAGLERAY_ROBUST_MARK"]
    with nothing_lost(ray):
        actors = []
        for _ in range(3):
            actors += [Actor.remote() for _ in range(4)]
            for pid in [pid for pid in marked(mark) if name(pid) == "eagleray-zygote"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        assert len(set(ray.get([actor.pid.remote() for actor in actors], timeout=LIMIT))) == 12
        del actors


DRIVERS = {
    "segfault": "ctypes.string_at(0)",
    "aborts": "os.abort()",
    "closes all": "os.closerange(3, 4096); time.sleep(60)",
    "closes all and gets": "os.closerange(3, 4096); ray.get(refs, timeout=60)",
    "stopped, then killed": "os.kill(os.getpid(), signal.SIGSTOP)",
}


@pytest.mark.parametrize("end", mostly_slow(DRIVERS, "segfault"))
def test_a_driver_that_ends(program: Callable[..., Program], end: str) -> None:
    """With tasks, actors, children of tasks and objects under way: nothing is left."""
    driver = program(
        """
        ray.init(address="local", num_cpus=4, log_to_driver=False)

        @ray.remote
        def child():
            subprocess.run(["sleep", "1000"])

        @ray.remote
        def deaf():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ctypes.PyDLL(None).sleep(1000)

        @ray.remote
        def stopped():
            os.kill(os.getpid(), signal.SIGSTOP)

        refs = [child.remote(), deaf.remote(), stopped.remote(), ray.put(bytes(1_000_000))]
        say("ready")
        input()
        """,
        DRIVERS[end],
    )
    driver.line()
    until(lambda: "sleep 1000" in driver.members().values(), LIMIT)
    members = driver.members()
    with Calm() as clock:
        driver.answer()
        if end.startswith("stopped"):
            until(lambda: state(driver.pid) == "T", LIMIT)
            driver.signal(signal.SIGKILL)
        until(lambda: not any(alive(pid) for pid in members if pid != driver.pid), LIMIT, "the session ends")
        assert clock() < 5
    if end == "closes all":
        driver.signal(signal.SIGKILL)
    driver.end(LIMIT)
    assert driver.remains() == []


DAEMONS = {
    "kill -9": [signal.SIGKILL],
    "segfault": [signal.SIGSEGV],
    "stopped, then killed": [signal.SIGSTOP, signal.SIGKILL],
}


@pytest.mark.parametrize("end", mostly_slow(DAEMONS, "kill -9"))
def test_a_daemon_that_ends(program: Callable[..., Program], end: str) -> None:
    """Within five seconds every call raises and every process is gone: hung, deaf, stopped, started by tasks."""
    driver = program(
        """
        import asyncio
        ray.init(address="local", num_cpus=8, log_to_driver=False)

        @ray.remote
        def child():
            subprocess.run(["sleep", "1000"])

        @ray.remote
        def detached():
            subprocess.Popen(["sleep", "1001"], start_new_session=True)
            time.sleep(1000)

        @ray.remote
        def deaf():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            ctypes.PyDLL(None).sleep(1000)

        @ray.remote
        def stopped():
            os.kill(os.getpid(), signal.SIGSTOP)

        @ray.remote
        def forks():
            if os.fork() == 0:
                time.sleep(1000)
            time.sleep(1000)

        @ray.remote
        class Actor:
            def spin(self):
                while True:
                    pass

        actor = Actor.remote()
        refs = [task.remote() for task in (child, detached, deaf, stopped, forks)] + [actor.spin.remote()]
        found = {}

        def expect(name, call):
            try:
                call()
                found[name] = "worked"
            except ray.exceptions.LocalRayletDiedError as error:
                found[name] = "told"
            except BaseException as error:
                found[name] = repr(error)

        calls = {
            "get": lambda: ray.get(refs),
            "wait": lambda: ray.wait(refs, num_returns=6),
            "async": lambda: asyncio.run(asyncio.wait_for(refs[0], 30)),
            "future": lambda: refs[1].future().result(30),
        }
        threads = [threading.Thread(target=expect, args=pair) for pair in calls.items()]
        for thread in threads:
            thread.start()
        say("ready")
        input()
        for thread in threads:
            thread.join(60)
        for name, call in {
            "remote": lambda: ray.get(child.remote()),
            "method": lambda: ray.get(actor.spin.remote()),
            "put": lambda: ray.put(1),
            "large put": lambda: ray.put(bytes(1_000_000)),
            "actor": lambda: Actor.remote(),
            "cancel": lambda: ray.cancel(refs[0]),
            "kill": lambda: ray.kill(actor),
        }.items():
            expect(name, call)
        say(json.dumps(found))
        input()
        ray.shutdown()
        ray.init(address="local", num_cpus=1, log_to_driver=False)
        say(ray.get(ray.remote(lambda: "again").remote()))
        """
    )
    driver.line()
    until(lambda: {"sleep 1000", "sleep 1001"} <= set(driver.members().values()), LIMIT)
    until(lambda: any(state(pid) == "T" for pid in driver.members()), LIMIT)
    members = driver.members()
    daemon = driver.daemon()
    with Calm() as clock:
        for number in DAEMONS[end]:
            if number == signal.SIGSTOP:
                halt(daemon)
            else:
                os.kill(daemon, number)
        driver.answer()
        found = json.loads(driver.line(LIMIT))
        assert set(found.values()) == {"told"}, found
        left = {pid: line for pid, line in members.items() if pid != driver.pid}
        try:
            until(lambda: not any(map(alive, left)), LIMIT)
        except TimeoutError:
            raise AssertionError([(pid, state(pid), line) for pid, line in left.items() if alive(pid)]) from None
        assert clock() < 5
    driver.answer()
    assert driver.rest() == ["again"]
    assert driver.remains() == []
