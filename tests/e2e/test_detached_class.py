"""Detached actors whose class is larger than a message start and restart when whoever made them has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import eagleray
import pytest

MIB = 1 << 20

#: What each program begins with. Its arguments: the session, and how many MiB the class captures.
HEAD = """
import os, sys
import eagleray as ray

ray.init(address=sys.argv[1], namespace="shared")
captured = os.urandom(int(sys.argv[2]) << 20)


@ray.remote(num_cpus=0)
class Holder:
    def size(self):
        return len(captured)

    def pid(self):
        return os.getpid()

    def twin(self, name):  # of the class that this process has got
        ray.remote(type(self)).options(name=name, num_cpus=0, lifetime="detached", max_restarts=1).remote()


lasting = Holder.options(name="holder", lifetime="detached", max_restarts=2)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with eagleray.init(
        address="local",
        num_cpus=2,
        resources={"slot": 1},
        namespace="shared",
        object_store_memory=500 * MIB,
        log_to_driver=False,
    ) as context:
        yield context.address_info["address"]


@pytest.fixture
def holder() -> Iterator[Any]:
    """Finds the actor, and ends it after the test."""
    names: set[str] = set()

    def find(name: str = "holder") -> Any:
        names.add(name)
        return eagleray.get_actor(name)

    yield find
    for name in names:
        eagleray.kill(eagleray.get_actor(name))


def program(address: str, source: str, mib: int = 12, status: int = 0) -> str:
    """Runs a program to its end, and returns what it wrote."""
    command = [sys.executable, "-c", HEAD + source, address, str(mib)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def restart(actor: Any, mib: int = 12) -> None:
    eagleray.kill(actor, no_restart=False)
    assert eagleray.get(actor.size.remote(), timeout=60) == mib * MIB


def test_it_restarts_after_its_program_has_ended(address: str, holder: Any) -> None:
    program(address, "assert ray.get(lasting.remote().size.remote()) == len(captured)", mib=70)
    restart(holder(), mib=70)
    restart(holder(), mib=70)


def test_it_starts_when_its_program_was_killed_at_once(address: str, holder: Any) -> None:
    program(address, "lasting.remote(); os.kill(os.getpid(), 9)", status=-signal.SIGKILL)
    assert eagleray.get(holder().size.remote(), timeout=60) == 12 * MIB
    restart(holder())


def test_it_starts_when_resources_come_after_its_program_has_ended(address: str, holder: Any) -> None:
    @eagleray.remote(num_cpus=0, resources={"slot": 1})
    class Occupant:
        def ready(self) -> bool:
            return True

    occupant = Occupant.remote()
    assert eagleray.get(occupant.ready.remote())
    program(address, "Holder.options(name='late', lifetime='detached', resources={'slot': 1}).remote()")
    eagleray.kill(occupant)
    assert eagleray.get(holder("late").size.remote(), timeout=60) == 12 * MIB


def test_it_restarts_when_its_process_is_killed(address: str, holder: Any) -> None:
    program(address, "lasting.remote()")
    os.kill(eagleray.get(holder().pid.remote(), timeout=60), signal.SIGKILL)
    assert eagleray.get(holder().size.options(max_task_retries=-1).remote(), timeout=60) == 12 * MIB


def test_it_restarts_when_a_task_or_an_actor_has_made_it(address: str, holder: Any) -> None:
    program(
        address,
        """
class Maker:
    def make(self, name):
        actor = lasting.options(name=name).remote()
        assert ray.get(actor.size.remote()) == len(captured)

ray.get(ray.remote(Maker.make).remote(None, "of a task"))
ray.get(ray.remote(Maker).remote().make.remote("of an actor"))
""",
    )
    restart(holder("of a task"))
    restart(holder("of an actor"))


def test_it_restarts_as_another_class(address: str, holder: Any) -> None:
    program(
        address,
        """
class Other:
    data = captured[1:]
    def size(self):
        return len(self.data) + 1
    def pid(self):
        return os.getpid()
    def twin(self, name):
        pass

# The first takes the only slot, so that the second becomes the other class.
first = lasting.options(name="first", resources={"slot": 1}).remote()
assert ray.get(first.size.remote()) == len(captured)
lasting.options(resources={"slot": 1}, fallback=[(Other, {})]).remote()
assert ray.get(ray.get_actor("holder").size.remote()) == len(captured)
""",
    )
    restart(holder())
    holder("first")


def test_it_makes_actors_of_its_own_class(address: str, holder: Any) -> None:
    program(address, "lasting.remote()")
    restart(holder())
    eagleray.get(holder().twin.remote("twin"), timeout=60)
    restart(holder("twin"))


def test_several_share_a_class(address: str, holder: Any) -> None:
    program(address, "[lasting.options(name=f'n{n}', get_if_exists=True).remote() for n in (1, 2, 2, 3)]")
    for name in ("n1", "n2", "n3"):
        restart(holder(name))


def test_an_argument_that_has_gone_is_told_as_that(address: str) -> None:
    source = """
@ray.remote(num_cpus=0)
class Taker:
    def __init__(self, value):
        pass

    def ready(self):
        return True

takers = [
    Taker.options(name=name, lifetime="detached", max_restarts=1).remote(value)
    for name, value in (("value", captured), ("reference", ray.put(captured)))
]
assert ray.get([taker.ready.remote() for taker in takers]) == [True, True]
"""
    program(address, source, mib=1)
    for name in ("value", "reference"):
        taker = eagleray.get_actor(name)
        eagleray.kill(taker, no_restart=False)
        with pytest.raises(eagleray.exceptions.ActorDiedError) as caught:
            eagleray.get(taker.ready.remote(), timeout=60)
        text = str(caught.value)
        assert "an argument of the constructor of Taker could not be had" in text, text
        assert "the process that owned it has ended" in text and "constructor raised" not in text, text


def test_workers_are_silent_about_what_ends_with_their_job(address: str) -> None:
    source = """
@ray.remote(num_cpus=0)
class Taker:
    def __init__(self, value):
        pass

    def ready(self):
        return True

@ray.remote
def make(n):
    taker = Taker.options(name=f"taker{n}", lifetime="detached", max_restarts=1).remote(ray.put(captured))
    return ray.get(taker.ready.remote())

assert all(ray.get([make.remote(n) for n in range(4)]))
"""
    said = program(address, source, mib=1)
    for n in range(4):
        eagleray.kill(eagleray.get_actor(f"taker{n}"))
    assert "lost" not in said and "successor" not in said, said


class Unloadable:
    """A class that workers cannot load."""

    def __init_subclass__(cls) -> None:
        if "CANNOT_LOAD" in os.environ:
            raise ImportError("a library is missing")


def test_a_class_that_cannot_be_loaded_is_told_as_that(address: str) -> None:
    @eagleray.remote(num_cpus=0)
    class Loaded(Unloadable):
        def ready(self) -> bool:
            return True

    @eagleray.remote(max_retries=0)
    def broken() -> int:
        raise KeyError("no argument")

    @eagleray.remote(num_cpus=0)
    class Taker:
        def __init__(self, value: Any) -> None:
            pass

        def ready(self) -> bool:
            return True

    loaded = Loaded.options(runtime_env={"env_vars": {"CANNOT_LOAD": "1"}}).remote()
    with pytest.raises(eagleray.exceptions.ActorDiedError, match="did not run: the actor's class could not be loaded"):
        eagleray.get(loaded.ready.remote(), timeout=60)
    taker = Taker.options(name="taker").remote(broken.remote())
    with pytest.raises(eagleray.exceptions.ActorDiedError, match="did not run: an argument of it could not be had"):
        eagleray.get(taker.ready.remote(), timeout=60)


def test_daemon_gives_back_the_memory_of_a_class_whose_actor_has_ended(address: str) -> None:
    from eagleray._private.state import process
    from pace import until

    daemon = process.require().daemon_pid

    def memory() -> int:
        lines = open(f"/proc/{daemon}/smaps_rollup").read().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Anonymous:"))

    program(address, "assert ray.get(Holder.options(name='large', lifetime='detached').remote().size.remote())", mib=90)
    assert memory() > 90 * MIB
    eagleray.kill(eagleray.get_actor("large"))
    until(lambda: memory() < 45 * MIB, "the daemon keeps the memory of the class")
