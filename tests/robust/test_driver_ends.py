"""A driver that ends, in any way and at any moment, leaves nothing: no process, file, socket or shared memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from halt import halt
from pace import PATIENCE_S
from processes import alive, descriptors, private, threads, until
from program import Program

pytestmark = pytest.mark.timeout(300)

START = """
    import numpy as np
    ray.init(address="local", num_cpus=2, log_to_driver=False)

    @ray.remote
    def pid():
        return os.getpid()

    @ray.remote(num_cpus=0)
    class Actor:
        def pid(self):
            return os.getpid()

        def spin(self):
            while True:
                pass

        def spawn(self):
            code = "import time; time.sleep(1000)"
            command = [sys.executable, "-c", code]
            children = [subprocess.Popen(command, start_new_session=apart) for apart in (False, True)]
            daemon = os.fork()
            if daemon == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(1000)
                os._exit(0)
            os.waitpid(daemon, 0)
            return [child.pid for child in children]

    @ray.remote
    def sleeps():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
        time.sleep(1000)
"""

READY = "say('ready')"
#: The driver, the daemon, the zygote, and then what the load adds.
LEAST = {"idle": 4, "busy": 3 + 5, "spawned": 3 + 4}

BUSY = {
    "idle": "ray.get(pid.remote())",
    "nothing begun": "",
    "busy": """
    actors = [Actor.remote() for _ in range(3)]
    ray.get([actor.pid.remote() for actor in actors])
    spins = [actor.spin.remote() for actor in actors]
    refs = [sleeps.remote() for _ in range(10)]
    value = ray.put(np.zeros(3_000_000))
    view = ray.get(value)
    """,
    "spawned": """
    actor = Actor.remote()
    ray.get(actor.spawn.remote())
    """,
    "queue": "refs = [pid.remote() for _ in range(20_000)]",
    "starting": "actors = [Actor.remote() for _ in range(20)]; refs = [actor.pid.remote() for actor in actors]",
}

WAYS = {
    "kill -9": ("input()", signal.SIGKILL, -9),
    "SIGTERM": ("input()", signal.SIGTERM, -15),
    "SIGHUP": ("input()", signal.SIGHUP, -1),
    "SIGQUIT": ("input()", signal.SIGQUIT, -3),
    "Ctrl-C": ("input()", signal.SIGINT, -2),
    "returns": ("", None, 0),
    "sys.exit": ("sys.exit(3)", None, 3),
    "raises": ("raise ValueError('on purpose')", None, 1),
    "os._exit": ("os._exit(4)", None, 4),
    "aborts": ("os.abort()", None, -6),
    "thread": ("threading.Thread(target=ray.get, args=[sleeps.remote()], daemon=True).start()", None, 0),
    "shuts down": ("ray.shutdown()", None, 0),
}


def finish(driver: Program, number: int | None, status: int, least: int = 2) -> None:
    """Ends the driver and checks how it ended and what it left."""
    assert driver.line() == "ready"
    members = driver.members()
    if number is not None:  # a driver that ends by itself may have begun to
        deadline = time.monotonic() + 60
        while len(members) < least and time.monotonic() < deadline:
            time.sleep(0.02)  # workers come up beside the driver
            members = driver.members()
        assert len(members) >= least, members
        driver.signal(number)
    assert driver.end() in (status, 128 - status), driver.errors()[-2000:]
    assert driver.remains() == []
    # One that is on its way out has no environment any more, but a state for some milliseconds.
    until(lambda: not any(alive(pid) for pid in members), PATIENCE_S)


@pytest.mark.parametrize("load", BUSY)
def test_kill_9(program: Callable[..., Program], load: str) -> None:
    finish(program(START, BUSY[load], READY, "input()"), signal.SIGKILL, -9, LEAST.get(load, 2))


@pytest.mark.parametrize("way", WAYS)
def test_ends(program: Callable[..., Program], way: str) -> None:
    last, number, status = WAYS[way]
    finish(program(START, BUSY["busy"], READY, last), number, status, LEAST["busy"])


def test_the_end_while_the_session_starts(program: Callable[..., Program]) -> None:
    """Killed at some points of the first milliseconds."""
    for delay in (0.01, 0.03, 0.06, 0.1, 0.2):
        driver = program(
            f"""
            threading.Timer({delay}, os.kill, (os.getpid(), 9)).start()
            ray.init(address="local", num_cpus=2)
            ray.get(ray.remote(lambda: os.getpid()).remote())
            time.sleep(10)
            """
        )
        assert driver.end() == -9
        assert driver.remains() == []


def test_the_end_when_its_daemon_begins(program: Callable[..., Program], tmp_path: Path) -> None:
    """Killed when there is nobody yet who could remove what it made."""
    daemon = tmp_path / "daemon"
    daemon.write_text("#!/bin/sh\nkill -9 $PPID\n")
    daemon.chmod(0o700)
    driver = program(
        f"""
        os.environ["EAGLERAY_BIN"] = {str(daemon)!r}
        ray.init(address="local", num_cpus=2)
        """
    )
    assert driver.end() == -9
    assert driver.remains() == []


def test_the_end_of_one_that_was_stopped(program: Callable[..., Program]) -> None:
    """Its workers are stopped, too: they cannot notice anything by themselves."""
    driver = program(START, BUSY["busy"], READY, "input()")
    assert driver.line() == "ready"
    halt(*(pid for pid, line in driver.members().items() if "daemon" not in line))
    driver.signal(signal.SIGKILL)
    driver.end()
    assert driver.remains() == []


def test_a_driver_whose_daemon_is_stopped_can_leave(program: Callable[..., Program]) -> None:
    """Nothing waits for ever for a daemon that does not answer."""
    driver = program(START, BUSY["idle"], READY, "input()", "ray.shutdown()", "say('left')")
    assert driver.line() == "ready"
    daemon = driver.daemon()
    halt(daemon)
    driver.answer()
    assert driver.line() == "left"
    assert driver.end() == 0
    assert driver.remains() == []


@pytest.mark.parametrize("rounds", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_rounds_of_init_and_shutdown(fresh: Any, rounds: int) -> None:
    """Memory, descriptors, threads and files are as after the first rounds."""
    ray = fresh

    @ray.remote
    def one() -> int:
        return 1

    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

    def once() -> None:
        ray.init(address="local", num_cpus=1, log_to_driver=False)
        ray.get([one.remote(), Actor.remote().one.remote(), ray.put(bytes(1_000_000))], timeout=30)
        ray.shutdown()

    def count() -> tuple[int, int, int]:
        return descriptors(), threads(), private(os.getpid())

    for _ in range(10):
        once()
    before = count()
    for _ in range(rounds - 10):
        once()
    after = count()
    assert after[0] <= before[0], f"descriptors: {before[0]}, then {after[0]}"
    assert after[1] <= before[1] + 3, f"threads: {before[1]}, then {after[1]}"
    assert after[2] <= before[2] + (8 << 20), f"private bytes: {before[2]}, then {after[2]}"
