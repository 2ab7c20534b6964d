"""``util.state``: logs of one task, where tasks ran that have ended, creations of actors, runtime environments."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import eagleray as ray
import pytest
from eagleray._private.state import process
from eagleray.util import state
from eagleray.util.state import common
from eagleray.util.state.exception import RayStateApiException
from pace import until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    assert not ray.is_initialized(), "another fixture's session is running"
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    yield
    ray.shutdown()


@ray.remote(num_cpus=1)
def speak(*lines: str, last: str = "\n") -> int:
    for line in lines:
        print(line, end=last if line == lines[-1] else "\n")
        print(f"{line}!", file=sys.stderr)
    return os.getpid()


@ray.remote(num_cpus=0)
class Speaker:
    def __init__(self, name: str) -> None:
        self.name = name
        print("made", name)

    def __repr__(self) -> str:
        return f"Speaker\n{self.name}"

    def say(self, text: str) -> None:
        print(text)

    def leave(self) -> None:
        print("bye")
        ray.actor.exit_actor()


@ray.remote(num_cpus=0, max_concurrency=3)
class Chorus:
    def __init__(self) -> None:
        self.there = 0

    async def sing(self, text: str) -> None:
        self.there += 1
        for round in range(5):
            print(text, round)
            while self.there < 2:
                await _pause()
            await _pause()


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0)


def log(ref: Any, **how: Any) -> str:
    task_id = ref if isinstance(ref, str) else ref.task_id().hex()
    return "".join(state.get_log(task_id=task_id, **how))


def shows(ref: Any, text: str, **how: Any) -> None:
    until(lambda: log(ref, **how) == text, f"the log of the task is {text!r}")


def record(ref: Any) -> Any:
    found = state.get_task(ref)
    assert found is not None
    return found


def test_log_of_each_task_of_one_worker() -> None:
    refs = [speak.options(num_cpus=2).remote(f"a{number}", f"b{number}") for number in range(4)]
    silent = speak.options(num_cpus=2).remote()
    assert len({*ray.get(refs), ray.get(silent)}) == 1, "the tasks have run in one worker"
    for number, ref in enumerate(refs):
        shows(ref, f"a{number}\nb{number}\n")
        shows(ref, f"a{number}!\nb{number}!\n", suffix="err")
        assert log(ref, tail=1) == f"b{number}\n"
    assert log(silent) == ""


def test_text_past_python_belongs_to_the_task_that_has_begun_to_write() -> None:
    @ray.remote(num_cpus=2)
    def shell(said: bool) -> None:
        if said:
            print("first")
        subprocess.run(["echo", "from a child"], check=True)

    after, before = shell.remote(True), shell.remote(False)
    ray.get([after, before])
    shows(after, "first\nfrom a child\n")
    assert log(before) == ""


def test_line_that_two_tasks_write_belongs_to_the_first() -> None:
    first, second = speak.options(num_cpus=2).remote("x", last=""), speak.options(num_cpus=2).remote("y", "z")
    ray.get([first, second])
    shows(first, "xy\n")
    shows(second, "z\n")


def test_logs_of_an_actors_constructor_and_calls() -> None:
    actor = Speaker.remote("s")
    calls = [actor.say.remote(f"call {number}") for number in range(3)]
    ray.get(calls)
    for number, ref in enumerate(calls):
        shows(ref, f"call {number}\n")
    shows("f" * 16 + actor._actor_id.hex(), "made s\n")


def test_logs_of_coroutines_that_run_at_the_same_time() -> None:
    chorus = Chorus.remote()
    high, low = chorus.sing.remote("high"), chorus.sing.remote("low")
    ray.get([high, low])
    shows(high, "".join(f"high {number}\n" for number in range(5)))
    shows(low, "".join(f"low {number}\n" for number in range(5)))


def test_log_of_a_task_is_followed_and_names_its_attempt() -> None:
    ref = speak.remote("one")
    ray.get(ref)
    shows(ref, "one\n")
    assert next(state.get_log(task_id=ref.task_id().hex(), follow=True)) == "one\n"
    with pytest.raises(RayStateApiException, match=r"attempt 3 of task .* its latest attempt is 0"):
        log(ref, attempt_number=3)
    with pytest.raises(ValueError, match="needs one of"):
        log(ref, pid=1)


def test_latest_attempt_is_shown_of_a_task_that_ran_twice(tmp_path: Any) -> None:
    @ray.remote(num_cpus=2, max_retries=1, retry_exceptions=True)
    def again(marker: str) -> None:
        first = not os.path.exists(marker)
        print("first" if first else "second")
        if first:
            open(marker, "w").close()
            raise OSError

    ref = again.remote(str(tmp_path / "ran"))
    ray.get(ref)
    shows(ref, "second\n", attempt_number=1)


def test_command_shows_the_log_of_a_task() -> None:
    ref = speak.remote("for the command")
    ray.get(ref)
    shows(ref, "for the command\n")
    folder = process.require().session_dir
    program = "from eagleray._private.cli import main; main()"
    command = [sys.executable, "-c", program, "logs", "task", "--address", folder]
    done = subprocess.run(
        [*command, "--id", ref.task_id().hex()], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "for the command\n", "")


def test_where_and_when_a_task_ran_that_has_ended() -> None:
    before = time.time() * 1000
    ref = speak.remote()
    pid = ray.get(ref)
    row = record(ref)
    assert (row.state, row.worker_pid, row.node_id) == ("FINISHED", pid, ray.get_runtime_context().get_node_id())
    assert before - 1 <= row.start_time_ms <= row.end_time_ms <= time.time() * 1000 + 1
    assert row.worker_id in {worker.worker_id for worker in state.list_workers()}


def test_where_a_task_ran_is_known_after_the_end_of_its_worker() -> None:
    @ray.remote(max_calls=1)
    def once() -> int:
        return os.getpid()

    ref = once.remote()
    pid = ray.get(ref)
    until(lambda: record(ref).worker_pid == pid and not any(w.pid == pid and w.is_alive for w in state.list_workers()))
    assert record(ref).start_time_ms


def test_call_that_ends_its_actor_is_finished() -> None:
    actor = Speaker.remote("leaves")
    ref = actor.leave.remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(ref)
    until(lambda: record(ref).state == "FINISHED")
    row = record(ref)
    assert (row.error_type, row.error_message) == (None, None) and row.worker_pid
    later = actor.say.remote("x")
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(later)
    assert (record(later).state, record(later).error_type) == ("FAILED", "ACTOR_DIED")
    shows(ref, "bye\n")


def test_last_attempt_of_a_task_whose_workers_died() -> None:
    @ray.remote(max_retries=1)
    def dies() -> None:
        os._exit(3)

    ref = dies.remote()
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(ref)
    assert (record(ref).attempt_number, record(ref).error_type) == (1, "WORKER_DIED")


def test_repr_of_an_actor_living_and_dead() -> None:
    actor = Speaker.remote("r")
    ray.get(actor.say.remote("x"))
    chorus = Chorus.remote()
    ray.get(chorus.__ray_ready__.remote())

    def shown(one: Any) -> Any:
        found = state.get_actor(one._actor_id.hex())
        return found and found.repr_name

    assert (shown(actor), shown(chorus)) == ("Speaker\nr", "")
    ray.kill(actor)
    until(lambda: (row := state.get_actor(actor._actor_id.hex())) is not None and row.state == "DEAD")
    until(lambda: shown(actor) == "Speaker\nr")


def test_creations_of_actors_are_tasks() -> None:
    @ray.remote(num_cpus=0)
    class Bad:
        def __init__(self) -> None:
            raise ValueError("no")

    @ray.remote(num_cpus=2)
    class Waits:
        def __init__(self) -> None:
            pass

    @ray.remote(num_cpus=0)
    class Whole:
        def __init__(self) -> None:
            self.task_id = ray.get_runtime_context().get_task_id()

        def task(self) -> Any:
            return self.task_id

    bad, whole = Bad.remote(), Whole.remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(bad.__ray_ready__.remote())
    first = Waits.remote()
    ray.get(first.__ray_ready__.remote())
    waits = Waits.remote()
    found = {}
    for one in (bad, whole, first, waits):
        (row,) = state.list_tasks(
            filters=[("type", "=", "ACTOR_CREATION_TASK"), ("actor_id", "=", one._actor_id.hex())], detail=True
        )
        found[one] = (row.name, row.state, row.error_type)
    assert list(found.values()) == [
        ("Bad.__init__", "FAILED", "TASK_EXECUTION_EXCEPTION"),
        ("Whole.__init__", "FINISHED", None),
        ("Waits.__init__", "FINISHED", None),
        ("Waits.__init__", "PENDING_NODE_ASSIGNMENT", None),
    ]
    creation = state.get_task(ray.get(whole.task.remote()))
    assert creation is not None and creation.name == "Whole.__init__"
    summary = state.summarize_tasks()["cluster"]["summary"]
    assert summary["Waits.__init__"] == {
        "func_or_class_name": "Waits.__init__",
        "type": "ACTOR_CREATION_TASK",
        "state_counts": {"FINISHED": 1, "PENDING_NODE_ASSIGNMENT": 1},
    }
    del first, waits


def test_runtime_environments_in_use_and_failed(tmp_path: Any) -> None:
    good = {"env_vars": {"A": "1"}}
    lacking = {"py_executable": str(tmp_path / "lacking")}
    actor = Speaker.options(runtime_env=good).remote("env")
    ray.get(actor.say.remote("x"))
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError):
        ray.get(speak.options(runtime_env=lacking, max_retries=0).remote())
    rows = state.list_runtime_envs(detail=True)
    failed, made = (row for row in rows if row.runtime_env in (lacking, good))
    node = ray.get_runtime_context().get_node_id()
    assert (made.runtime_env, made.success, made.node_id, made.ref_cnt, made.error) == (good, True, node, 1, None)
    assert isinstance(made.creation_time_ms, float) and made.creation_time_ms > 0
    assert (failed.success, failed.creation_time_ms, failed.ref_cnt) == (False, None, 0)
    assert "lacking" in str(failed.error)
    assert state.list_runtime_envs(filters=[("success", "=", False)])[0].runtime_env == lacking
    client = state.StateApiClient()
    assert client.list(common.StateResource.RUNTIME_ENVS, common.ListApiOptions(detail=True), True) == rows
    with pytest.raises(RayStateApiException, match="have no ids"):
        client.get(common.StateResource.RUNTIME_ENVS, "x")
