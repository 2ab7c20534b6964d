"""What a detached actor submits goes on when the driver that made the actor has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray.util.state import list_jobs
from pace import until

#: The program that makes the actors and ends. Its arguments: the session, and a folder for what it notes.
MAKER = """
import os, sys, time
from pathlib import Path

import eagleray as ray

ray.init(address=sys.argv[1], namespace="shared")
folder = Path(sys.argv[2])


@ray.remote(num_cpus=0)
def note(name):
    "Says which process runs here, and runs until the file `stop` is there."
    (folder / f"{name}.part").write_text(str(os.getpid()))
    (folder / f"{name}.part").rename(folder / name)
    while not (folder / "stop").exists():
        time.sleep(0.01)
    return name


@ray.remote(num_cpus=0)
class Plain:
    def __init__(self, name):
        (folder / f"{name}.part").write_text(str(os.getpid()))
        (folder / f"{name}.part").rename(folder / name)

    def answer(self):
        return "an answer"


@ray.remote
def outer(name):
    return ray.get(note.remote(name))


@ray.remote(num_returns="streaming")
def count(n):
    yield from range(n)


@ray.remote
class Keeper:
    "A detached actor that has work done by others."

    def begin(self):
        self.long = outer.remote("kept_task")
        self.plain = Plain.remote("kept_actor")
        return ray.get(self.plain.answer.remote())

    def end(self):
        return ray.get(self.long), ray.get(self.plain.answer.remote())

    def square(self, n):
        return sum(ray.get([ray.remote(lambda i: i * i).remote(i) for i in range(n)]))

    def nested(self):
        return ray.get(ray.remote(lambda: ray.get(ray.remote(lambda: "from below").remote())).remote())

    def stream(self, n):
        return [ray.get(item) for item in count.remote(n)]

    def large(self, n):
        return [ray.remote(lambda: bytes(n)).remote()]

    def actor(self):
        return ray.get(Plain.remote("later_actor").answer.remote())

    def successor(self, name):
        Keeper.options(name=name, lifetime="detached").remote()

    async def own_process(self):
        return await ray.remote(lambda: os.getpid()).options(runtime_env={"env_vars": {"OTHER": "1"}}).remote()


keeper = Keeper.options(name="keeper", lifetime="detached", max_restarts=1).remote()
assert ray.get(keeper.begin.remote()) == "an answer"
mine = outer.remote("lost_task"), Plain.remote("lost_actor")
names = ["kept_task", "kept_actor", "lost_task", "lost_actor"]
while not all((folder / name).exists() for name in names):
    time.sleep(0.01)
print(ray.get_runtime_context().get_job_id())
if sys.argv[3] == "killed":
    sys.stdout.flush()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with eagleray.init(address="local", num_cpus=2, namespace="shared", log_to_driver=False) as context:
        yield context.address_info["address"]


@pytest.fixture(autouse=True)
def no_actors_stay(address: str) -> Iterator[None]:
    """Actors that a failed test has left take no names away from the next test."""
    yield
    for name in eagleray.util.list_named_actors():
        eagleray.kill(eagleray.get_actor(name))


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def lives(folder: Path, name: str) -> bool:
    return runs(int((folder / name).read_text()))


def state_of(job: str) -> str:
    return next(str(each.status) for each in list_jobs() if each.job_id == job)


def made(address: str, folder: Path, way: str) -> tuple[Any, str]:
    """The actor that a program has made that has ended since, and the program's job."""
    command = [sys.executable, "-c", MAKER, address, str(folder), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == (-9 if way == "killed" else 0), done.stderr
    return eagleray.get_actor("keeper"), done.stdout.strip()


@pytest.mark.parametrize("way", ["ended", "killed"])
def test_what_it_has_submitted_goes_on_and_what_the_driver_has_submitted_ends(
    address: str, tmp_path: Path, way: str
) -> None:
    keeper, job = made(address, tmp_path, way)
    until(lambda: not lives(tmp_path, "lost_task"), "the driver's task ends")
    until(lambda: not lives(tmp_path, "lost_actor"), "the driver's actor ends")
    assert lives(tmp_path, "kept_task") and lives(tmp_path, "kept_actor")
    assert state_of(job) == ("FAILED" if way == "killed" else "SUCCEEDED")
    ended = keeper.end.remote()
    (tmp_path / "stop").touch()
    assert eagleray.get(ended, timeout=60) == ("kept_task", "an answer")
    eagleray.kill(keeper)
    until(lambda: not lives(tmp_path, "kept_actor"), "the actor's actor ends with it")


def test_it_submits_tasks_and_makes_actors_when_the_driver_has_ended(address: str, tmp_path: Path) -> None:
    keeper, _ = made(address, tmp_path, "ended")
    eagleray.kill(keeper, no_restart=False)  # one that has restarted is no different
    assert eagleray.get(keeper.square.remote(200), timeout=60) == sum(i * i for i in range(200))
    assert eagleray.get(keeper.nested.remote(), timeout=60) == "from below"
    assert eagleray.get(keeper.stream.remote(3), timeout=60) == [0, 1, 2]
    (result,) = eagleray.get(keeper.large.remote(300_000), timeout=60)
    assert eagleray.get(result, timeout=60) == bytes(300_000)
    assert eagleray.get(keeper.actor.remote(), timeout=60) == "an answer"
    assert eagleray.get(keeper.own_process.remote(), timeout=60) > 0
    eagleray.get(keeper.successor.remote("second"), timeout=60)
    eagleray.kill(keeper)
    second = eagleray.get_actor("second")
    assert eagleray.get(second.square.remote(10), timeout=60) == sum(i * i for i in range(10))
    eagleray.kill(second)


def test_nothing_of_the_job_is_left_when_its_last_detached_actor_has_ended(address: str, tmp_path: Path) -> None:
    keeper, _ = made(address, tmp_path, "ended")
    (tmp_path / "stop").touch()
    eagleray.get(keeper.end.remote(), timeout=60)
    worker = eagleray.get(keeper.own_process.remote(), timeout=60)
    eagleray.kill(keeper)
    until(lambda: not runs(worker), "the idle worker of the job ends")


#: Its detached actor has a value put by a task, and the driver then uses that task's process.
SHARES = """
import os, sys
import eagleray as ray

ray.init(address=sys.argv[1], namespace="shared")


@ray.remote(num_cpus=0)
class Keeper:
    def take(self):
        (self.process, self.ref), = ray.get([ray.remote(lambda: (os.getpid(), ray.put("from a task"))).remote()])
        return self.process

    def value(self):
        return ray.get(self.ref)


keeper = Keeper.options(name="keeper", lifetime="detached").remote()
process = ray.get(keeper.take.remote())
assert process in ray.get([ray.remote(lambda: os.getpid()).remote() for _ in range(20)])
print(process)
"""


def test_what_its_tasks_have_put_stays_when_the_driver_has_used_their_process(address: str) -> None:
    command = [sys.executable, "-c", SHARES, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert eagleray.get(eagleray.get_actor("keeper").value.remote(), timeout=60) == "from a task"
