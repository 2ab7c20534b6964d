"""Actors that come back: counts, errors, order of pending calls, arguments of the constructor, names."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pace import bare_start, until

LIMIT = 60.0


def classes() -> tuple[type, type]:
    """Local classes: those of this module would have each new worker import it, and pytest with it."""

    class Phoenix:
        """Ends in whatever way it is told to."""

        def pid(self) -> int:
            return os.getpid()

        def reborn(self) -> bool:
            import eagleray

            return eagleray.get_runtime_context().was_current_actor_reconstructed

        def end(self, how: str) -> None:
            import eagleray

            match how:
                case "os._exit(0)":
                    os._exit(0)
                case "os._exit(3)":
                    os._exit(3)
                case "sys.exit(0)":
                    sys.exit(0)
                case "sys.exit()":
                    sys.exit()
                case "sys.exit(3)":
                    sys.exit(3)
                case "SIGKILL" | "SIGSEGV":
                    os.kill(os.getpid(), getattr(signal, how))
                case "exit_actor":
                    eagleray.actor.exit_actor()

        def note(self, path: str, text: str, wait: str = "") -> str:
            with open(path, "a") as file:
                file.write(text + "\n")
            while wait and not os.path.exists(wait):
                time.sleep(0.002)
            return text

        def note_and_end(self, path: str, text: str, once: str) -> str:
            self.note(path, text)
            if not os.path.exists(once):
                Path(once).touch()
                os._exit(1)
            return text

    class AsyncPhoenix(Phoenix):
        async def wait(self, path: str) -> str:
            while not os.path.exists(path):
                await asyncio.sleep(0.002)
            return path

    return Phoenix, AsyncPhoenix


Phoenix, AsyncPhoenix = classes()


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def kill(pid: int) -> None:
    """Kills a process and waits until nothing of it runs."""
    os.kill(pid, signal.SIGKILL)

    def ended() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    until(ended)


#: How an actor ends, whether it comes back, and what is said.
ENDS = {
    "os._exit(0)": (True, "ended with exit code 0"),
    "os._exit(3)": (True, "ended with exit code 3"),
    "sys.exit()": (True, "ended with exit code 0"),
    "sys.exit(3)": (True, "ended with exit code 3"),
    "SIGKILL": (True, "signal 9 (SIGKILL)"),
    "SIGSEGV": (True, "signal 11 (SIGSEGV)"),
    "sys.exit(0)": (False, "on purpose (INTENDED_USER_EXIT): sys.exit(0) was called"),
    "exit_actor": (False, "on purpose (INTENDED_USER_EXIT): exit_actor() was called"),
}


@pytest.mark.parametrize("how", ENDS)
def test_who_comes_back_and_how_often(ray: Any, how: str) -> None:
    """As Ray: an end without a word counts as a death, whatever its status."""
    restarts, said = ENDS[how]
    actor = ray.remote(Phoenix).options(max_restarts=1).remote()
    first = ray.get(actor.pid.remote())
    assert ray.get(actor.reborn.remote()) is False
    kind = ray.exceptions.ActorUnavailableError if restarts else ray.exceptions.ActorDiedError
    with pytest.raises(kind, match=re.escape(said)) as caught:
        ray.get(actor.end.remote(how), timeout=LIMIT)
    assert caught.value.actor_id == actor._actor_id.hex()
    if restarts:
        assert ray.get(actor.pid.remote(), timeout=LIMIT) != first
        assert ray.get(actor.reborn.remote(), timeout=LIMIT) is True
        with pytest.raises(ray.exceptions.ActorDiedError, match="max_restarts allows, which is 1"):
            ray.get(actor.end.remote(how), timeout=LIMIT)
    with pytest.raises(ray.exceptions.ActorDiedError, match=re.escape(said)):
        ray.get(actor.pid.remote(), timeout=LIMIT)


def test_what_the_errors_say(ray: Any) -> None:
    """Who it was, where it ran, and how it ended, in Ray's form."""
    actor = ray.remote(Phoenix).options(name="told", namespace="errors", max_restarts=1).remote()
    pid = ray.get(actor.pid.remote())
    with pytest.raises(ray.exceptions.ActorUnavailableError) as unavailable:
        ray.get(actor.end.remote("os._exit(3)"), timeout=LIMIT)
    text = str(unavailable.value)
    assert text.startswith(f"The actor {actor._actor_id.hex()} is unavailable: ")
    assert f"worker pid {pid} ended with exit code 3" in text
    assert text.endswith("Whether the call ran is not known.")
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    ray.kill(actor)
    with pytest.raises(ray.exceptions.ActorDiedError) as died:
        ray.get(actor.pid.remote(), timeout=LIMIT)
    said = str(died.value).splitlines()
    for line in (
        "\tclass_name: Phoenix",
        f"\tactor_id: {actor._actor_id.hex()}",
        f"\tpid: {pid}",
        "\tname: told",
        "\tnamespace: errors",
    ):
        assert line in said
    assert any(line.startswith("\tip: ") for line in said)
    assert "killed by `ray.kill`" in said[-1]
    assert died.value.actor_id == actor._actor_id.hex() and not died.value.actor_init_failed


def test_kill_that_lets_it_restart_costs_a_restart(ray: Any) -> None:
    actor = ray.remote(Phoenix).options(max_restarts=1).remote()
    first = ray.get(actor.pid.remote())
    ray.kill(actor, no_restart=False)
    assert ray.get(actor.pid.remote(), timeout=LIMIT) != first
    ray.kill(actor, no_restart=False)
    with pytest.raises(ray.exceptions.ActorDiedError, match=r"killed by `ray.kill`.* max_restarts allows, which is 1"):
        ray.get(actor.pid.remote(), timeout=LIMIT)


def test_pending_calls_go_on_in_order(ray: Any, tmp_path: Path) -> None:
    """Only the call that ran is concerned by a death; the others are sent again, before those made since."""
    log, gate = tmp_path / "log", tmp_path / "gate"
    actor = ray.remote(Phoenix).options(max_restarts=-1).remote()
    pid = ray.get(actor.pid.remote())
    running = actor.note.remote(str(log), "running", str(gate))
    pending = [actor.note.remote(str(log), str(i)) for i in range(200)]
    until(lambda: lines(log) == ["running"])
    kill(pid)
    late = [actor.note.remote(str(log), str(i)) for i in range(200, 300)]
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(running, timeout=LIMIT)
    assert ray.get(pending + late, timeout=LIMIT) == [str(i) for i in range(300)]
    assert lines(log) == ["running", *map(str, range(300))], "each ran once, in the order in which they were made"


def test_calls_that_had_started_are_tried_again(ray: Any, tmp_path: Path) -> None:
    """As often as max_task_retries allows, and before what came after them; a method's own number wins."""
    log, once = tmp_path / "log", tmp_path / "once"
    actor = ray.remote(Phoenix).options(max_restarts=-1, max_task_retries=1).remote()
    refs = [actor.note.remote(str(log), "a"), actor.note_and_end.remote(str(log), "b", str(once))]
    refs += [actor.note.remote(str(log), "c")]
    assert ray.get(refs, timeout=LIMIT) == ["a", "b", "c"]
    ran = lines(log)
    assert ran[-2:] == ["b", "c"] and ran[:2] == ["a", "b"]
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(actor.end.options(max_task_retries=0).remote("os._exit(3)"), timeout=LIMIT)
    never = actor.end.options(max_task_retries=2).remote("os._exit(3)")
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(never, timeout=LIMIT)
    assert ray.get(actor.note.remote(str(log), "d"), timeout=LIMIT) == "d"


def test_retries_outlive_several_restarts(ray: Any, tmp_path: Path) -> None:
    @ray.remote(max_restarts=-1, max_task_retries=-1)
    class Stubborn:
        def work(self, i: int) -> int:
            mark = tmp_path / f"{i}.{len(list(tmp_path.glob(f'{i}.*')))}"
            mark.touch()
            if i % 4 == 0 and mark.suffix != ".2":
                os._exit(1)
            return i

    actor = Stubborn.remote()
    assert ray.get([actor.work.remote(i) for i in range(10)], timeout=LIMIT) == list(range(10))
    assert all(len(list(tmp_path.glob(f"{i}.*"))) == 3 for i in (0, 4, 8))


def test_several_at_once_in_one_actor(ray: Any, tmp_path: Path) -> None:
    """What threads and an event loop had begun counts as started, whichever of them; the rest does not."""
    for cls, options in ((Phoenix, {"max_concurrency": 2}), (AsyncPhoenix, {"max_concurrency": 2})):
        log, gate = tmp_path / cls.__name__, tmp_path / f"gate of {cls.__name__}"
        actor = ray.remote(cls).options(max_restarts=1, **options).remote()
        pid = ray.get(actor.pid.remote())
        if cls is Phoenix:
            running = [actor.note.remote(str(log), "r", str(gate)) for _ in range(2)]
            until(lambda log=log: len(lines(log)) == 2)
        else:
            running = [actor.wait.remote(str(gate)) for _ in range(2)]
            ray.wait(running, timeout=0.1)
        pending = [actor.note.remote(str(log), str(i)) for i in range(20)]
        kill(pid)
        for ref in running:
            with pytest.raises(ray.exceptions.ActorUnavailableError):
                ray.get(ref, timeout=LIMIT)
        assert ray.get(pending, timeout=LIMIT) == [str(i) for i in range(20)]


def test_several_callers(ray: Any, tmp_path: Path) -> None:
    """Callers in other processes keep their order and their calls, too."""
    log = tmp_path / "log"
    actor = ray.remote(Phoenix).options(max_restarts=-1, max_task_retries=-1).remote()

    @ray.remote
    def caller(name: str) -> list[str]:
        refs = [actor.note.remote(str(log), f"{name}{i}") for i in range(100)]
        return ray.get(refs, timeout=LIMIT)

    pid = ray.get(actor.pid.remote())
    done = [caller.remote(name) for name in "ab"]
    for _ in range(3):
        until(lambda: lines(log))
        kill(pid)
        pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    assert ray.get(done, timeout=LIMIT) == [[f"{name}{i}" for i in range(100)] for name in "ab"]
    for name in "ab":
        first = list(dict.fromkeys(line for line in lines(log) if line[0] == name))
        assert first == [f"{name}{i}" for i in range(100)]


def test_dependencies_that_are_late(ray: Any, tmp_path: Path) -> None:
    """A call that waits for an argument holds those behind it, across a restart."""
    log, gate = tmp_path / "log", tmp_path / "gate"

    @ray.remote(num_cpus=0)
    def late() -> str:
        while not gate.exists():
            time.sleep(0.002)
        return "late"

    actor = ray.remote(Phoenix).options(max_restarts=1).remote()
    pid = ray.get(actor.pid.remote())
    refs = [actor.note.remote(str(log), late.remote()), actor.note.remote(str(log), "behind")]
    kill(pid)
    gate.touch()
    assert ray.get(refs, timeout=LIMIT) == ["late", "behind"] == lines(log)


def test_pending_calls_are_counted_through_a_restart(ray: Any, tmp_path: Path) -> None:
    log, gate = tmp_path / "log", tmp_path / "gate"
    actor = ray.remote(Phoenix).options(max_restarts=1, max_task_retries=1, max_pending_calls=3).remote()
    pid = ray.get(actor.pid.remote())
    refs = [actor.note.remote(str(log), str(i), str(gate)) for i in range(3)]
    kill(pid)
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded):
        actor.pid.remote()
    gate.touch()
    assert ray.get(refs, timeout=LIMIT) == ["0", "1", "2"]
    assert ray.get(actor.pid.remote()) != pid


def test_arguments_of_the_constructor_live_as_long_as_it_may_run_again(ray: Any) -> None:
    """By reference, small and in the object store, by value and large, and references inside."""

    @ray.remote(max_restarts=-1)
    class Holder:
        def __init__(self, small: str, big: Any, direct: Any, inside: list[Any]) -> None:
            self.sum = (small, int(big.sum()), int(direct.sum()), int(ray.get(inside[0]).sum()))

        def read(self) -> Any:
            return self.sum, os.getpid()

    @ray.remote
    def made(n: int) -> Any:
        return np.full(200_000, n)

    actor = Holder.remote(ray.put("small"), made.remote(1), np.full(200_000, 2), [ray.put(np.full(200_000, 3))])
    want = ("small", 200_000, 400_000, 600_000)
    for _ in range(3):
        found, pid = ray.get(actor.read.remote(), timeout=LIMIT)
        assert found == want
        gc.collect()
        kill(pid)
    assert ray.get(actor.read.remote(), timeout=LIMIT)[0] == want


def test_a_constructor_that_raises_at_a_restart_is_the_cause(ray: Any, tmp_path: Path) -> None:
    @ray.remote(max_restarts=-1)
    class Once:
        def __init__(self) -> None:
            mark = tmp_path / "mark"
            if mark.exists():
                raise KeyError("second start")
            mark.touch()

        def pid(self) -> int:
            return os.getpid()

    actor = Once.remote()
    kill(ray.get(actor.pid.remote()))
    with pytest.raises(ray.exceptions.ActorDiedError, match="second start") as caught:
        ray.get(actor.pid.remote(), timeout=LIMIT)
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.actor_init_failed


def test_a_constructor_that_dies_uses_the_restarts_and_rests_between_them(ray: Any, tmp_path: Path) -> None:
    @ray.remote
    class Dies:
        def __init__(self, folder: str) -> None:
            Path(folder, str(len(os.listdir(folder)))).touch()
            os._exit(1)

        def ready(self) -> None: ...

    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()
    actor = Dies.options(max_restarts=3).remote(str(few))
    with pytest.raises(ray.exceptions.ActorDiedError, match=r"ended with exit code 1.*max_restarts allows, which is 3"):
        ray.get(actor.ready.remote(), timeout=LIMIT)
    assert len(os.listdir(few)) == 4
    endless = Dies.options(max_restarts=-1).remote(str(many))
    began = time.monotonic()
    until(lambda: len(os.listdir(many)) >= 5)
    # Two at once, then after 50, 100 and 200 ms.
    assert time.monotonic() - began > 0.35
    ray.kill(endless)
    with pytest.raises(ray.exceptions.ActorDiedError, match=r"ray\.kill"):
        ray.get(endless.ready.remote(), timeout=LIMIT)


def test_a_replacement_is_quick(ray: Any) -> None:
    actor = ray.remote(Phoenix).options(max_restarts=-1, max_task_retries=-1).remote()
    pid = ray.get(actor.pid.remote())
    times, bare = [], []
    for _ in range(9):
        bare.append(bare_start())
        began = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        while (found := ray.get(actor.pid.remote(), timeout=LIMIT)) == pid:
            pass
        times.append(time.perf_counter() - began)
        pid = found
    # On a quiet machine 27 ms beside 10 ms for a bare interpreter.
    assert sorted(times)[3] < 8 * sorted(bare)[3], (times, bare)


def test_names_of_those_that_restart(ray: Any) -> None:
    """The name stays taken and finds the actor while it restarts; it is free when the actor is dead."""
    make = ray.remote(Phoenix).options(name="comes-back", lifetime="detached", max_restarts=1)
    actor = make.remote()
    pid = ray.get(actor.pid.remote())
    os.kill(pid, signal.SIGKILL)
    found = ray.get_actor("comes-back")
    assert found == actor and "comes-back" in ray.util.list_named_actors()
    assert make.options(get_if_exists=True).remote() == actor
    with pytest.raises(ValueError, match="already taken"):
        make.remote()
    while (now := ray.get(found.pid.remote(), timeout=LIMIT)) == pid:  # until it has been seen to be dead
        pass
    kill(now)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.pid.remote(), timeout=LIMIT)
    with pytest.raises(ValueError, match="comes-back"):
        ray.get_actor("comes-back")
    again = make.remote()
    assert again != actor and ray.get(again.pid.remote(), timeout=LIMIT) != now
    ray.kill(again)


def test_a_detached_actor_outlives_the_worker_that_made_it(ray: Any) -> None:
    """And restarts without it."""

    @ray.remote(max_calls=1)
    def make() -> int:
        ray.remote(Phoenix).options(name="orphan", lifetime="detached", max_restarts=-1).remote()
        return os.getpid()

    maker = ray.get(make.remote(), timeout=LIMIT)
    until(lambda: not os.path.exists(f"/proc/{maker}"))
    actor = ray.get_actor("orphan")
    pid = ray.get(actor.pid.remote(), timeout=LIMIT)
    kill(pid)
    assert ray.get(actor.pid.remote(), timeout=LIMIT) != pid
    ray.kill(actor)


def test_get_if_exists_makes_one(ray: Any) -> None:
    """Many at once, from several processes."""

    @ray.remote(num_cpus=0.5)
    def find(n: int) -> list[str]:
        make = ray.remote(Phoenix).options(name="the one", lifetime="detached", get_if_exists=True, num_cpus=0)
        handles = [make.remote() for _ in range(n)]
        return [handle._actor_id.hex() for handle in handles]

    found = {one for many in ray.get([find.remote(125) for _ in range(8)], timeout=60) for one in many}
    assert len(found) == 1
    actor = ray.get_actor("the one")
    assert found == {actor._actor_id.hex()}
    ray.kill(actor)


def test_the_owners_death_is_told(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def make(box: Any) -> None:
        actor = ray.remote(Phoenix).options(max_restarts=-1).remote()
        ray.get(actor.pid.remote())
        ray.get(box.keep.remote([actor]))
        os._exit(1)

    @ray.remote
    class Box:
        def keep(self, handles: list[Any]) -> None:
            self.handle = handles[0]

        def call(self) -> str:
            try:
                ray.get(self.handle.pid.remote(), timeout=LIMIT)
            except ray.exceptions.ActorDiedError as error:
                return str(error)
            return "alive"

    box = Box.remote()
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(make.remote(box), timeout=LIMIT)
    until(lambda: "its owner has died" in ray.get(box.call.remote(), timeout=LIMIT))


def test_placed_on_a_worker_that_was_just_killed(ray: Any) -> None:
    """Its constructor has not begun: it is placed again, though it may not restart."""

    @ray.remote
    def pid() -> int:
        return os.getpid()

    actor = ray.remote(Phoenix).options(num_cpus=0)
    for _ in range(5):
        killed = ray.get([pid.remote() for _ in range(4)], timeout=LIMIT)
        for one in set(killed):
            os.kill(one, signal.SIGKILL)
        assert ray.get(actor.remote().pid.remote(), timeout=LIMIT) not in killed
