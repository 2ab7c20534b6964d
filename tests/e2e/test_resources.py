"""CPUs, devices and named resources: who gets what, who waits, who can never run."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import eagleray
import pytest
from declared import SHARED
from pace import PATIENCE_S, Calm, becomes, meet


@pytest.fixture(scope="module")
def session() -> Any:
    """The shared session's resources, in one that this module has to itself."""
    with eagleray.init(address="local", **SHARED, object_store_memory=2e8) as context:
        yield context


def free(ray: Any, name: str) -> float:
    return ray.available_resources().get(name, 0.0)


def test_totals(ray: Any) -> None:
    totals = ray.cluster_resources()
    assert totals["CPU"] == 4.0 and totals["GPU"] == 2.0 and totals["slot"] == 2.0
    assert totals["object_store_memory"] == pytest.approx(200_000_000, rel=0.05) and totals["memory"] > 1e8
    (node,) = ray.nodes()
    assert node["Alive"] and node["Resources"]["GPU"] == 2.0 and len(node["NodeID"]) == 56


def test_running_tasks_hold_and_return(ray: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    @ray.remote(num_cpus=1.5, resources={"slot": 0.25})
    def hold() -> dict[str, float]:
        becomes(seen.exists, True)
        return ray.get_runtime_context().get_assigned_resources()

    becomes(lambda: free(ray, "CPU"), 4.0)
    ref = hold.remote()
    becomes(lambda: free(ray, "CPU"), 2.5)
    assert free(ray, "slot") == 1.75
    seen.touch()
    assert ray.get(ref) == {"CPU": 1.5, "slot": 0.25}
    becomes(lambda: free(ray, "CPU"), 4.0)


def test_tasks_wait_for_what_they_need(ray: Any) -> None:
    @ray.remote(resources={"slot": 2})
    def alone(began: float) -> tuple[float, float]:
        start = time.monotonic()
        time.sleep(0.05)
        return start, time.monotonic()

    spans = sorted(ray.get([alone.remote(0) for _ in range(3)], timeout=PATIENCE_S))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_fractions_run_together(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0, resources={"slot": 0.5})
    def together() -> None:
        meet(tmp_path, 4)

    ray.get([together.remote() for _ in range(4)], timeout=PATIENCE_S)


def test_device_ids_of_tasks(ray: Any) -> None:
    @ray.remote
    def devices() -> Any:
        context = ray.get_runtime_context()
        return ray.get_gpu_ids(), context.get_accelerator_ids()["GPU"], os.environ.get("CUDA_VISIBLE_DEVICES")

    assert ray.get(devices.options(num_gpus=1).remote()) == ([0], ["0"], "0")
    assert ray.get(devices.options(num_gpus=2).remote()) == ([0, 1], ["0", "1"], "0,1")
    assert ray.get(devices.remote()) == ([], [], ""), "a task without devices sees none of the node's"
    keep = {"env_vars": {"EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}}
    assert ray.get(devices.options(runtime_env=keep).remote())[2] == os.environ.get("CUDA_VISIBLE_DEVICES")
    assert ray.get_gpu_ids() == []


def test_actors_keep_devices_and_fractions_pack(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Holder:
        def ids(self) -> list[int]:
            return ray.get_gpu_ids()

        def held(self) -> dict[str, float]:
            return ray.get_runtime_context().get_assigned_resources()

    halves = [Holder.options(num_gpus=0.5).remote() for _ in range(3)]
    assert [ray.get(a.ids.remote()) for a in halves] == [[0], [0], [1]]
    assert ray.get(halves[0].held.remote()) == {"GPU": 0.5}
    assert free(ray, "GPU") == 0.5
    ray.kill(halves[1])
    becomes(lambda: free(ray, "GPU"), 1.0)
    again = Holder.options(num_gpus=0.5).remote()
    assert ray.get(again.ids.remote()) == [0]
    del halves, again
    becomes(lambda: free(ray, "GPU"), 2.0)


def test_actors_need_a_cpu_to_start_and_none_to_run(ray: Any) -> None:
    @ray.remote
    class A:
        def held(self) -> dict[str, float]:
            return ray.get_runtime_context().get_assigned_resources()

    actors = [A.remote() for _ in range(8)]
    assert ray.get([a.held.remote() for a in actors], timeout=30) == [{}] * 8
    gpu = A.options(num_gpus=1).remote()
    assert ray.get(gpu.held.remote()) == {"CPU": 1.0, "GPU": 1.0}
    assert ray.get(A.options(num_cpus=2).remote().held.remote()) == {"CPU": 2.0}
    assert ray.get(A.options(memory=1000).remote().held.remote()) == {"memory": 1000.0}


def test_variable_is_set_before_modules_are_imported(ray: Any, tmp_path: Any) -> None:
    becomes(lambda: free(ray, "GPU"), 2.0)
    (tmp_path / "library_that_looks.py").write_text("import os\nSEEN = os.environ.get('CUDA_VISIBLE_DEVICES')\n")

    class Marked:  # its class is unpickled together with the function
        import os

        seen = staticmethod(lambda: None)

    @ray.remote(num_gpus=1, runtime_env={"py_modules": [str(tmp_path / "library_that_looks.py")]})
    def look() -> Any:
        import library_that_looks  # type: ignore[import-not-found]

        return library_that_looks.SEEN, Marked.seen()

    assert ray.get(look.remote(), timeout=30) == ("0", None)


def test_changed_variable_is_set_again(ray: Any) -> None:
    @ray.remote(num_gpus=1, max_calls=0)
    def change() -> Any:
        seen = os.environ["CUDA_VISIBLE_DEVICES"]
        os.environ["CUDA_VISIBLE_DEVICES"] = "7"
        return os.getpid(), seen

    becomes(lambda: free(ray, "GPU"), 2.0)
    found = [ray.get(change.remote()) for _ in range(3)]
    assert [seen for _, seen in found] == ["0"] * 3
    assert len({pid for pid, _ in found}) == 1, "max_calls=0 lets the worker be used again"


def test_worker_that_used_a_device_is_not_used_again(ray: Any) -> None:
    @ray.remote(num_gpus=1)
    def pid() -> int:
        return os.getpid()

    assert len({ray.get(pid.remote()) for _ in range(3)}) == 3


def test_impossible_task_fails_at_get_within_a_second(ray: Any) -> None:
    @ray.remote(num_gpus=3)
    def greedy() -> None: ...

    with Calm() as clock:
        with pytest.raises(ray.exceptions.TaskUnschedulableError, match="GPU") as caught:
            ray.get(greedy.remote(), timeout=PATIENCE_S)
        assert clock() < 1
    assert "greedy" in str(caught.value) and "3" in str(caught.value) and '"GPU": 2' in str(caught.value)


def test_impossible_actor_is_told_at_once(ray: Any) -> None:
    @ray.remote(num_gpus=3)
    class Greedy: ...

    with pytest.raises(ray.exceptions.ActorUnschedulableError, match=r"Greedy.*GPU"):
        Greedy.remote()
    with pytest.raises(ray.exceptions.ActorUnschedulableError, match="nowhere"):
        Greedy.options(num_gpus=0, resources={"nowhere": 1}).remote()


def test_wait_does_not_count_what_can_never_run(ray: Any) -> None:
    @ray.remote(num_gpus=5)
    def probe() -> None: ...

    @ray.remote
    def fine() -> int:
        return 1

    start = time.monotonic()
    infeasible = probe.remote()
    ready, rest = ray.wait([infeasible], timeout=240)
    assert ready == [] and rest == [infeasible]
    good = fine.remote()
    ready, rest = ray.wait([infeasible, good], num_returns=2, timeout=240)
    assert ready == [good] and rest == [infeasible]
    assert time.monotonic() - start < 240, "one of the waits took its whole time"


def test_memory_is_reserved(ray: Any) -> None:
    @ray.remote(memory=50_000_000)
    def hold() -> float:
        return ray.available_resources()["memory"]

    before = ray.available_resources()["memory"]
    assert before - ray.get(hold.remote()) == pytest.approx(50_000_000)


def test_accelerator_type_that_is_nowhere(ray: Any) -> None:
    from eagleray.util.accelerators import NVIDIA_TESLA_V100

    @ray.remote(num_gpus=1, accelerator_type=NVIDIA_TESLA_V100)
    def f() -> None: ...

    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="V100"):
        ray.get(f.remote(), timeout=60)


def test_context_of_the_driver(ray: Any) -> None:
    context = ray.get_runtime_context()
    assert len(context.get_job_id()) == 8 and len(context.get_node_id()) == 56 and len(context.get_worker_id()) == 56
    assert context.get_task_id() is context.get_actor_id() is context.get_task_name() is None
    assert context.namespace == "tests"
    with pytest.raises(AssertionError):
        context.get_assigned_resources()
    with pytest.raises(RuntimeError):
        context.current_actor  # noqa: B018
    assert set(context.get_accelerator_ids()) >= {"GPU", "TPU", "neuron_cores", "HPU", "NPU"}


def test_context_of_tasks_and_actors(ray: Any) -> None:
    def look() -> Any:
        c = ray.get_runtime_context()
        found = c.get_task_id(), c.get_task_name(), c.get_task_function_name(), c.get_actor_id(), c.get_actor_name()
        return c.get_job_id(), c.get_node_id(), c.namespace, found

    @ray.remote
    def task() -> Any:
        return look()

    @ray.remote
    class A:
        def m(self) -> Any:
            return look(), ray.get_runtime_context().current_actor

    mine = ray.get_runtime_context()
    ref = task.options(name="display").remote()
    job, node, namespace, (task_id, name, function, actor, actor_name) = ray.get(ref)
    assert (job, node, namespace) == (mine.get_job_id(), mine.get_node_id(), "tests")
    assert task_id == ref.task_id().hex() and name == "display"
    assert function.endswith("task") and actor is None and actor_name is None
    a = A.options(name="named").remote()
    (_, _, _, (task_id, name, function, actor, actor_name)), handle = ray.get(a.m.remote())
    assert len(task_id) == 48 and name == "A.m" and function.endswith("A.m")
    assert actor == a._actor_id.hex() and actor_name == "named" and handle == a


def test_older_names_of_ids_give_objects_and_methods_give_text(ray: Any) -> None:
    def look() -> Any:
        c = ray.get_runtime_context()
        new = c.get_job_id(), c.get_node_id(), c.get_task_id(), c.get_actor_id()
        return (c.job_id, c.node_id, c.task_id, c.actor_id), new, c.get()

    actor = ray.remote(type("Look", (), {"look": lambda self: look()})).remote()
    classes = ray.JobID, ray.NodeID, ray.TaskID, ray.ActorID
    for ref, known in ((ray.remote(look).remote(), 3), (actor.look.remote(), 4)):
        old, new, whole = ray.get(ref, timeout=PATIENCE_S)
        assert [type(one) for one in old[:known]] == list(classes[:known])
        assert [one.hex() for one in old[:known]] == list(new[:known])
        assert old[known:] == new[known:] == (None,) * (4 - known)
        assert [whole.get(name) for name in ("job_id", "node_id", "task_id", "actor_id")] == list(old)
    assert old[3] == actor._actor_id and old[3].binary().hex() == new[3]
    context = ray.get_runtime_context()
    assert (context.job_id.hex(), context.node_id.hex()) == (context.get_job_id(), context.get_node_id())
    assert set(context.get()) == {"job_id", "node_id", "namespace"}
    for name in ("task_id", "actor_id"):
        with pytest.raises(AssertionError, match=f"{name} is only available in tasks and actors"):
            getattr(context, name)
    assert ray.ObjectID is ray.ObjectRef


def test_an_actor_that_waits_gives_its_cpu_back_and_keeps_its_device(ray: Any) -> None:
    """The CPU of an actor that waits in ``get`` runs the task that it waits for; devices are never lent."""

    @ray.remote(num_cpus=4, num_gpus=2)
    class Waits:
        def wait_for(self, refs: list[Any]) -> Any:
            return ray.get(refs[0])

        def try_device(self, refs: list[Any], seconds: float) -> Any:
            return ray.wait(refs, timeout=seconds)[0]

        def devices(self) -> Any:
            return ray.get_gpu_ids()

    @ray.remote(num_cpus=4)
    def on_cpu() -> Any:
        return 5

    @ray.remote(num_cpus=0, num_gpus=1)
    def on_gpu() -> Any:
        return ray.get_gpu_ids()

    a = Waits.remote()
    assert len(ray.get(a.devices.remote(), timeout=PATIENCE_S)) == 2
    assert ray.get(a.wait_for.remote([on_cpu.remote()]), timeout=PATIENCE_S) == 5
    wants_device = on_gpu.remote()
    # A task that needs CPUs only runs while the actor waits; the one that needs a device does not.
    waits = a.wait_for.remote([wants_device])
    assert ray.get(on_cpu.remote(), timeout=PATIENCE_S) == 5
    assert ray.wait([wants_device, waits], timeout=0)[0] == []
    ray.kill(a)
    assert len(ray.get(wants_device, timeout=PATIENCE_S)) == 1
