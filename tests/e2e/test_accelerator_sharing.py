"""Fractions, reuse, types and refusals of accelerators, on devices that are declared."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import eagleray
import pytest
from pace import PATIENCE_S, Calm, meet, until

DECLARED = {"TPU": 4, "neuron_cores": 2, "HPU": 2, "NPU": 2, "accelerator_type:A100": 1}
FAMILIES = ("GPU", "TPU", "neuron_cores", "HPU", "NPU")


@pytest.fixture(scope="module")
def session() -> Any:
    """A session with devices of every family, and one type."""
    with eagleray.init(
        address="local", num_cpus=8, num_gpus=2, resources=DECLARED, namespace="tests", log_to_driver=False
    ) as context:
        yield context


def need(name: str, amount: float) -> dict[str, Any]:
    return {"num_gpus": amount} if name == "GPU" else {"resources": {name: amount}}


def all_free(ray: Any, name: str) -> None:
    until(lambda: ray.available_resources().get(name) == ray.cluster_resources()[name], f"all of {name} is given back")


@pytest.mark.parametrize("name", ["GPU", "NPU"])
def test_four_quarters_run_at_once(ray: Any, name: str, tmp_path: Path) -> None:
    all_free(ray, name)

    @ray.remote(num_cpus=0.5, **need(name, 0.25))
    def quarter() -> Any:
        meet(tmp_path, 4)
        return ray.get_runtime_context().get_accelerator_ids()[name]

    assert ray.get([quarter.remote() for _ in range(4)], timeout=PATIENCE_S) == [["0"]] * 4


@pytest.mark.parametrize("name", ["TPU", "neuron_cores", "HPU"])
@pytest.mark.parametrize("amount", [0.5, 1.5])
def test_whole_devices_only(ray: Any, name: str, amount: float) -> None:
    for target in (lambda: None, type("A", (), {})):
        with pytest.raises(ValueError, match=rf"^{name}: asked for {amount}; it must be a whole number"):
            ray.remote(resources={name: amount})(target)
        with pytest.raises(ValueError, match=name):
            ray.remote(target).options(resources={name: amount})


@pytest.mark.parametrize("name", ["GPU", "NPU"])
def test_more_than_one_is_whole(ray: Any, name: str) -> None:
    for target in (lambda: None, type("A", (), {})):
        remote = ray.remote(**need(name, 1.5))(target)
        with pytest.raises(ValueError, match=rf"^{name}: asked for 1.5; it must be a whole number or a fraction below"):
            remote.remote()


def test_chips_come_in_groups(ray: Any) -> None:
    with pytest.raises(ValueError, match="TPU: asked for 3; the chips of a host can be used in groups of 1, 2, 4, 8"):
        ray.remote(resources={"TPU": 3})(lambda: None)
    read = ray.remote(resources={"TPU": 4})(lambda: os.environ["TPU_VISIBLE_CHIPS"])
    assert ray.get(read.remote()) == "0,1,2,3"


@pytest.mark.parametrize("name", FAMILIES)
def test_processes_by_max_calls(ray: Any, name: str) -> None:
    """One call for each process unless stated otherwise, for every family."""

    def pids(calls: int, **options: Any) -> list[int]:
        task = ray.remote(**need(name, 1), **options)(lambda: os.getpid())
        return [ray.get(task.remote(), timeout=30) for _ in range(calls)]

    assert len(set(pids(2))) == 2
    assert len(set(pids(3, max_calls=0))) == 1
    a, b, c, d, e = pids(5, max_calls=2)
    assert a == b and c == d and len({a, c, e}) == 3


@pytest.mark.parametrize("native", [False, True])
def test_reused_worker_gets_its_own_value(ray: Any, native: bool) -> None:
    """The task before changed the variable, for Python or for C libraries only; another function comes next."""
    all_free(ray, "GPU")

    class Noted:
        def __reduce__(self) -> Any:
            return eval, ("__import__('os').environ.get('CUDA_VISIBLE_DEVICES')",)

    noted = Noted()

    def look() -> tuple[int, Any, bytes]:
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_char_p
        return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES"), getenv(b"CUDA_VISIBLE_DEVICES")

    @ray.remote(num_gpus=2, max_calls=0)
    def change() -> Any:
        found = look()
        if native:
            ctypes.CDLL(None).setenv(b"CUDA_VISIBLE_DEVICES", b"7", 1)
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = "7"
        return found

    @ray.remote(num_gpus=2, max_calls=0)
    def after() -> Any:
        return *look(), noted

    found = [ray.get(change.remote()), ray.get(change.remote()), ray.get(after.remote())[:3]]
    assert found == [(found[0][0], "0,1", b"0,1")] * 3
    assert ray.get(after.remote())[3] == "0,1", "it is there when the function is unpickled"


#: What a library notes when it first looks for devices stays for the life of its process.
_LOOK = """
import builtins, os
if not hasattr(builtins, "first_look"):
    builtins.first_look = {name: os.environ.get(name) for name in VARIABLES}
"""


def first_look(name: str) -> tuple[int, str, str]:
    """The process, what its library noted first, perhaps in an earlier task, and what the task itself was given."""
    import builtins

    exec(_LOOK, {"VARIABLES": sorted(VARIABLE_OF.values())})
    noted: dict[str, str | None] = builtins.first_look  # type: ignore[attr-defined]
    return os.getpid(), noted[name] or "", os.environ.get(name, "")


VARIABLE_OF = {
    "GPU": "CUDA_VISIBLE_DEVICES",
    "TPU": "TPU_VISIBLE_CHIPS",
    "neuron_cores": "NEURON_RT_VISIBLE_CORES",
    "HPU": "HABANA_VISIBLE_MODULES",
    "NPU": "ASCEND_RT_VISIBLE_DEVICES",
}


@pytest.mark.parametrize("kind", ["task", "kept task", "actor"])
@pytest.mark.parametrize("name", FAMILIES)
def test_work_with_devices_gets_no_process_in_which_other_work_ran(ray: Any, name: str, kind: str) -> None:
    all_free(ray, name)

    variable = VARIABLE_OF[name]

    @ray.remote
    class Looker:
        def look(self) -> Any:
            return first_look(variable)

    def look() -> tuple[int, str, str]:
        if kind == "actor":
            actor = Looker.options(**need(name, 1)).remote()
            found = ray.get(actor.look.remote(), timeout=30)
            ray.kill(actor)
        else:
            options = {"max_calls": 0} if kind == "kept task" else {}
            found = ray.get(ray.remote(**need(name, 1), **options)(first_look).remote(variable), timeout=30)
        return found  # type: ignore[no-any-return]

    plain = ray.remote(first_look)
    for _ in range(3):
        without, noted, given = ray.get(plain.remote(variable), timeout=30)
        assert noted == given == ""
        process, noted, given = look()
        assert process != without and noted == given != ""


def test_worker_without_devices_sees_none_again(ray: Any) -> None:
    @ray.remote
    def change() -> Any:
        found = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        return found

    assert [ray.get(change.remote()) for _ in range(3)] == [""] * 3


def test_actor_then_task(ray: Any) -> None:
    """The guide's example for every family: the actor has the first device, the task the second."""

    @ray.remote
    class Holder:
        def ids(self, name: str) -> Any:
            return ray.get_runtime_context().get_accelerator_ids()[name]

    @ray.remote
    def use(name: str) -> Any:
        return ray.get_runtime_context().get_accelerator_ids()[name]

    for name in FAMILIES:
        all_free(ray, name)
        holder = Holder.options(**need(name, 1)).remote()
        assert ray.get(holder.ids.remote(name)) == ["0"]
        assert ray.get(use.options(**need(name, 1)).remote(name)) == ["1"]
        del holder


def test_type_that_is_declared(ray: Any) -> None:
    from eagleray.util.accelerators import NVIDIA_A100

    @ray.remote(num_gpus=1, accelerator_type=NVIDIA_A100)
    def held() -> Any:
        return ray.get_runtime_context().get_assigned_resources()

    assert ray.get(held.remote()) == {"CPU": 1.0, "GPU": 1.0, "accelerator_type:A100": 0.001}
    assert ray.cluster_resources()["accelerator_type:A100"] == 1.0
    many = ray.remote(num_cpus=0, accelerator_type=NVIDIA_A100)(lambda: 1)
    assert sum(ray.get([many.remote() for _ in range(20)])) == 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_gpus": 4}, r"GPU: asked 4, the cluster has at most 2"),
        ({"accelerator_type": "V100"}, r"accelerator type V100: the cluster has none \(it has A100"),
        ({"accelerator_type": "A-100"}, r'accelerator type A-100: the cluster has none \(did you mean "A100"\?\)'),
        ({"resources": {"HPUs": 1}}, r'HPUs: asked 1, the cluster has none \(did you mean "HPU"\?\)'),
        ({"resources": {"XPU": 1}}, r"XPU: asked 1, the cluster has none \(it has GPU: 2, HPU: 2, NPU: 2, TPU: 4, "),
    ],
)
def test_infeasible_names_what_is_nearest(ray: Any, options: dict[str, Any], words: str) -> None:
    with Calm() as clock:
        with pytest.raises(ray.exceptions.TaskUnschedulableError, match=words):
            ray.get(ray.remote(**options)(lambda: None).remote(), timeout=PATIENCE_S)
        with pytest.raises(ray.exceptions.ActorUnschedulableError, match=words):
            ray.remote(**options)(type("A", (), {})).remote()
        assert clock() < 1


def test_ids_after_random_exits_and_restarts(ray: Any) -> None:
    """Actors that share, end, die and start again, and tasks between them: a device is never beyond one whole."""
    import random

    draw = random.Random(4)
    all_free(ray, "GPU")

    @ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
    class Holder:
        def ids(self) -> list[str]:
            return ray.get_runtime_context().get_accelerator_ids()["GPU"]

        def die(self) -> None:
            if not os.path.exists(self.mark):
                open(self.mark, "w").close()
                os._exit(1)

        def __init__(self, mark: str) -> None:
            self.mark = mark

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        held: list[tuple[Any, float]] = []
        free = 2.0
        for step in range(40):
            amount = draw.choice([0.25, 0.5, 1])
            if held and (draw.random() < 0.4 or free < 1):
                actor, amount = held.pop(draw.randrange(len(held)))
                if draw.random() < 0.3:
                    ray.get(actor.die.remote(), timeout=30)  # its second life answers
                    held.append((actor, amount))
                else:
                    ray.kill(actor)
                    free += amount
            elif amount <= free:
                held.append((Holder.options(num_gpus=amount).remote(f"{folder}/{step}"), amount))
                free -= amount
            used: dict[str, float] = {}
            try:
                for actor, amount in held:
                    for device in ray.get(actor.ids.remote(), timeout=60):
                        used[device] = used.get(device, 0) + amount
            except ray.exceptions.GetTimeoutError:
                ray.kill(held.pop()[0])  # what is free lies on two devices: the last one waits
                free += amount
                continue
            assert all(total <= 1 for total in used.values()), (step, used)
            assert set(used) <= {"0", "1"}
