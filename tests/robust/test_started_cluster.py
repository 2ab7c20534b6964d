"""A cluster started by hand: it outlives its drivers, and each driver's end takes only what was its own."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import processes
import pytest
from processes import alive, until
from program import Program

LIMIT = 60.0
NODE = 3  # processes of a node with a head: warden, head, daemon
pytestmark = pytest.mark.timeout(300)

DRIVER = """
    import msgpack
    import numpy as np
    from eagleray._private.state import process

    ray.init(log_to_driver=False, namespace="shared")

    @ray.remote
    def pid():
        return os.getpid()

    @ray.remote(num_cpus=0)
    class Actor:
        def pid(self):
            return os.getpid()

        def add(self, x):
            return x + 1

    def objects():
        return msgpack.unpackb(process.session.hot.rpc("obj_stats", b"", 1000))["objects"]
"""


class Cluster:
    """The ``eagleray`` command with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / secrets.token_hex(3)
        self.folder.mkdir()
        self.mark = secrets.token_hex(8)
        self.environ = {"EAGLERAY_TMPDIR": str(self.folder), "RAY_ADDRESS": ""}

    def __call__(self, *words: str, status: int = 0) -> str:
        command = [sys.executable, "-c", "from eagleray._private.cli import main; main()", *words]
        done = subprocess.run(
            command,
            env={**os.environ, **self.environ, processes.MARK: self.mark},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def daemon(self) -> int:
        """The daemon's process id."""
        return processes.daemon_of(self.mark)


@pytest.fixture
def cluster(place: Path) -> Iterator[Cluster]:
    """A running cluster with four CPUs."""
    made = Cluster(place)
    made("start", "--head", "--num-cpus=4", "--object-store-memory=200000000")
    yield made
    made("stop", "--force")
    left = processes.marked(made.mark)
    assert not left


def join(program: Callable[..., Program], cluster: Cluster, *parts: str) -> Program:
    """A driver that joins the cluster without naming it."""
    return program(DRIVER, *parts, **cluster.environ)


def own_workers(driver: Program) -> list[int]:
    """The workers of a driver: they inherit its mark."""
    return [pid for pid in driver.members() if pid != driver.pid]


def ends(*drivers: Program) -> None:
    """Waits until the drivers' workers and zygotes are gone; says which are left, and what they do."""

    def left() -> list[int]:
        return [pid for driver in drivers for pid in own_workers(driver)]

    try:
        until(lambda: not left(), LIMIT)
    except TimeoutError:
        states = [
            Path(f"/proc/{pid}/{name}").read_text()[:400] for pid in left() for name in ("cmdline", "wchan", "stat")
        ]
        raise AssertionError(f"still there: {states}") from None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_driver_is_killed_and_another_goes_on(program: Callable[..., Program], cluster: Cluster, number: int) -> None:
    first = join(
        program,
        cluster,
        """
        actors = [Actor.remote() for _ in range(3)]
        ray.get([actor.pid.remote() for actor in actors])
        kept = Actor.options(name="kept", lifetime="detached").remote()
        ray.get(kept.pid.remote())
        values = [ray.put(np.zeros(1_000_000)) for _ in range(5)]
        big = ray.put(np.ones(1_000_000))

        @ray.remote
        def sleeps():
            time.sleep(1000)

        refs = [sleeps.remote() for _ in range(20)]
        say("ready")
        input()
        """,
    )
    assert first.line() == "ready"
    second = join(
        program,
        cluster,
        """
        other = Actor.remote()
        value = ray.put(np.ones(1_000_000))
        say(ray.get(other.add.remote(1)), objects())
        count = 1
        while sys.stdin.readline() != "stop\\n":
            count = ray.get(other.add.remote(count))
            say(count)
        kept = ray.get_actor("kept")
        say(ray.get(kept.add.remote(1)))
        deadline = time.monotonic() + 60
        while (objects() != 1 or ray.available_resources().get("CPU") != 4) and time.monotonic() < deadline:
            time.sleep(0.01)
        say(objects(), ray.available_resources().get("CPU"), len(ray.get([pid.remote() for _ in range(8)])))
        ray.kill(kept)
        """,
    )
    assert second.line() == "2 7"
    second.answer()
    assert second.line() == "2"
    until(lambda: len(own_workers(first)) >= 6, LIMIT)
    detached = len(own_workers(first))
    first.signal(number)
    first.end()
    until(
        lambda: len(own_workers(first)) <= 2, 5, f"{detached} workers end, those of the detached actor excepted"
    )  # its zygote, too
    for count in range(3, 6):
        second.answer()
        assert second.line() == str(count)
    second.answer("stop")
    assert second.line() == "2"
    assert second.line() == "1 4.0 8"
    assert second.rest() == []
    ends(second, first)
    assert "0 workers" in cluster("status")


def test_drivers_come_and_go(program: Callable[..., Program], cluster: Cluster) -> None:
    """Their workers go with them, the cluster's processes and files do not add up."""
    folder = next(cluster.folder.glob("eagleray-*/s-*"))

    def descriptors() -> int:
        return len(os.listdir(f"/proc/{cluster.daemon()}/fd"))

    before = 0
    for number in range(6):
        driver = join(
            program,
            cluster,
            "say(sum(ray.get([pid.remote() for _ in range(20)])) > 0, ray.get(Actor.remote().add.remote(1)))",
        )
        assert driver.line() == "True 2"
        assert driver.rest() == []
        until(lambda driver=driver: not driver.members(), LIMIT)  # type: ignore[misc]
        until(lambda: len(processes.marked(cluster.mark)) == NODE and not os.listdir(folder / "p"), LIMIT)
        if number == 1:
            time.sleep(0.5)  # what is being closed is closed
            before = descriptors()
    until(lambda: descriptors() <= before, LIMIT, f"no more than {before} descriptors")


def test_two_drivers_exchange_values(program: Callable[..., Program], cluster: Cluster) -> None:
    """By a named actor; a value whose owner ended is lost, and says so."""
    first = join(
        program,
        cluster,
        """
        @ray.remote(num_cpus=0)
        class Box:
            def put(self, value):
                self.value = value

            def take(self):
                return self.value

        box = Box.options(name="box", lifetime="detached").remote()
        ray.get(box.put.remote([ray.put(np.arange(1_000_000)), ray.put(5), pid.remote()]))
        say("ready")
        input()
        """,
    )
    assert first.line() == "ready"
    second = join(
        program,
        cluster,
        """
        box = ray.get_actor("box")
        refs = ray.get(box.take.remote())
        view = ray.get(refs[0])
        say(int(view[-1]), ray.get(refs[1]), ray.get(refs[2]) > 0)
        input()
        say(int(view.sum()), int(ray.get(refs[0]).sum()))

        @ray.remote
        def look():
            for ref in ray.get(box.take.remote()):
                try:
                    ray.get(ref, timeout=60)
                    yield "there"
                except ray.exceptions.ObjectLostError as error:
                    yield type(error).__name__

        say(*ray.get(look.options(num_returns=3).remote()))
        ray.kill(box)
        """,
    )
    assert second.line() == "999999 5 True"
    first.signal(signal.SIGKILL)
    first.end()
    second.answer()
    total = sum(range(1_000_000))
    assert second.line() == f"{total} {total}"  # what this process has read, it has
    assert second.line() == " ".join(["OwnerDiedError"] * 3)
    assert second.rest() == []


def test_drivers_that_leave_while_their_workers_are_forked(program: Callable[..., Program], cluster: Cluster) -> None:
    """Whatever the forks had come to when the driver left, no process stays."""
    driver = join(
        program,
        cluster,
        """
        for round in range(10):
            refs = [pid.remote() for _ in range(8)]
            time.sleep(0.004 * round)
            ray.shutdown()
            ray.init(log_to_driver=False)
        say("done")
        input()
        """,
    )
    assert driver.line() == "done"
    # What stays is the zygote of the session that runs, with the worker that it was asked for ahead.
    until(lambda: len(own_workers(driver)) <= 2, LIMIT, "the workers of the sessions before end")
    driver.answer()
    driver.end()
    ends(driver)


@pytest.mark.parametrize("how", ["stop", "kill -9"])
def test_the_cluster_ends_below_its_drivers(program: Callable[..., Program], cluster: Cluster, how: str) -> None:
    drivers = [
        join(
            program,
            cluster,
            """
            @ray.remote
            def sleeps():
                time.sleep(1000)

            refs = [sleeps.remote() for _ in range(3)]
            ray.get(Actor.remote().pid.remote())
            say("ready")
            try:
                ray.get(refs)
            except ray.exceptions.LocalRayletDiedError:
                say("told")
            ray.shutdown()
            """,
        )
        for _ in range(2)
    ]
    for driver in drivers:
        assert driver.line() == "ready"
    members = [pid for driver in drivers for pid in own_workers(driver)]
    if how == "stop":
        cluster("stop")
    else:
        os.kill(cluster.daemon(), signal.SIGKILL)
    for driver in drivers:
        assert driver.line() == "told"
        assert driver.rest() == []
    until(lambda: not any(map(alive, members)), LIMIT)
    cluster("status", status=1)
    cluster("start", "--head", "--num-cpus=1", "--object-store-memory=100000000")
