"""The families of accelerators, on file trees that stand for machines which have them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from device_trees import FAMILIES, ROOT_VARIABLE, VARIABLES, Family, build
from eagleray._private.session.node import BINARY

#: For a module that the tests import in workers.
LOOKS = f"import os\nSEEN = {{name: os.environ.get(name) for name in {VARIABLES!r}}}\n"
TYPE = "ray.io/accelerator-type"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "NVIDIA_VISIBLE_DEVICES", "EAGLERAY_GPU_FAMILY"):
        monkeypatch.delenv(name, raising=False)


def machine(root: Path, monkeypatch: pytest.MonkeyPatch, *families: str, count: int = 4) -> None:
    """Makes daemons of this process find the families' devices."""
    files: dict[str, str] = {}
    for name in families:
        files.update(FAMILIES[name].files(count))
    monkeypatch.setenv(ROOT_VARIABLE, str(build(root / "machine", files)))


def need(family: Family, amount: float) -> dict[str, Any]:
    return {"num_gpus": amount} if family.resource == "GPU" else {"resources": {family.resource: amount}}


class Noted:
    """Notes the variables when it is unpickled, as an import of a vendor's library would read them."""

    def __reduce__(self) -> Any:
        return eval, (f"{{name: __import__('os').environ.get(name) for name in {VARIABLES!r}}}",)


def looker(ray: Any) -> tuple[Any, Any]:
    """A task and an actor that tell what they were given and saw: now, at an import, when the code was unpickled."""
    noted = Noted()

    def look() -> Any:
        import library_that_looks  # type: ignore[import-not-found]

        now = {name: os.environ.get(name) for name in VARIABLES}
        assert now == library_that_looks.SEEN == noted, (now, library_that_looks.SEEN, noted)
        ids = ray.get_runtime_context().get_accelerator_ids()
        return ids, ray.get_gpu_ids(), {name: text for name, text in now.items() if text is not None}

    class Looker:
        seen = noted

        def look(self) -> Any:
            return look()

    return ray.remote(look), ray.remote(Looker)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that looks at its import, where workers find it."""
    (tmp_path / "library_that_looks.py").write_text(LOOKS)
    monkeypatch.syspath_prepend(str(tmp_path))


def shown(name: str, ids: str, form: str) -> dict[str, str]:
    """The variables of work that has these devices."""
    family = FAMILIES[name]
    found = {family.variable: form + ids}
    if name == "nvidia":
        found["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    if name == "amd":
        found["HIP_VISIBLE_DEVICES"] = ",".join(map(str, range(ids.count(",") + 1)))
    return found


def hidden(name: str) -> dict[str, str]:
    family = FAMILIES[name]
    return {family.variable: family.nothing, **({"HIP_VISIBLE_DEVICES": ""} if name == "amd" else {})}


@pytest.mark.parametrize("name", FAMILIES)
def test_family_detected_and_isolated(
    name: str, fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: None
) -> None:
    """Detected count and type, ids of an actor and a task, what each sees, and what work without a device sees."""
    ray, family = fresh, FAMILIES[name]
    machine(tmp_path, monkeypatch, name)
    ray.init(address="local", num_cpus=4, log_to_driver=False)
    totals = ray.cluster_resources()
    assert totals[family.resource] == 4 and totals[f"accelerator_type:{family.kind}"] == 1
    assert ray.nodes()[0]["Labels"][TYPE] == family.kind
    task, actor = looker(ray)

    first = actor.options(**need(family, 1), accelerator_type=family.kind).remote()
    for look, ids in ((first.look, ["0"]), (task.options(**need(family, 1)), ["1"])):
        devices, gpus, seen = ray.get(look.remote(), timeout=30)
        assert devices == {other.resource: [] for other in FAMILIES.values()} | {family.resource: ids}
        assert gpus == ([int(ids[0])] if family.resource == "GPU" else [])
        companions = {name: text for name, text in seen.items() if not name.startswith("TPU_CHIPS")}
        assert companions == shown(name, ids[0], family.form)
    assert ray.get(task.remote())[2] == hidden(name), "only the family that the node has is hidden"


@pytest.mark.parametrize("name", FAMILIES)
def test_node_variable_is_the_limit(name: str, fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray, family = fresh, FAMILIES[name]
    machine(tmp_path, monkeypatch, name)
    monkeypatch.setenv(family.variable, "1,3")
    with pytest.raises(ValueError, match=rf"3 devices declared, but {family.variable}=1,3 limits this node to 2"):
        ray.init(
            address="local",
            **({"num_gpus": 3} if family.resource == "GPU" else {"resources": {family.resource: 3}}),
        )
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    assert ray.cluster_resources()[family.resource] == 2

    @ray.remote(**need(family, 1))
    class Holder:
        def look(self) -> Any:
            ids = ray.get_runtime_context().get_accelerator_ids()[family.resource]
            return ids, ray.get_gpu_ids(), {name: os.environ[name] for name in VARIABLES if name in os.environ}

    holders = []
    for device in ("1", "3"):
        holders.append(Holder.options(num_cpus=0).remote())
        ids, gpus, seen = ray.get(holders[-1].look.remote(), timeout=30)
        assert ids == [device] and gpus == ([device] if family.resource == "GPU" else [])
        assert seen == shown(name, device, ""), "the form is the node's"


def test_selector_with_a_backend_keeps_it(fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(tmp_path, monkeypatch, "intel")
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "level_zero:1,3")
    fresh.init(address="local", num_cpus=1, num_gpus=2, log_to_driver=False)
    read = fresh.remote(num_gpus=2)(lambda: os.environ["ONEAPI_DEVICE_SELECTOR"])
    assert fresh.get(read.remote()) == "level_zero:1,3"


def test_chips_come_with_their_layout(fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one reused worker: a part of the host needs the layout, the whole host must not have it."""
    machine(tmp_path, monkeypatch, "tpu")
    fresh.init(address="local", num_cpus=1, log_to_driver=False)

    @fresh.remote(max_calls=0)
    def look() -> dict[str, str]:
        return {name: text for name, text in os.environ.items() if name.startswith("TPU_")}

    layouts = [fresh.get(look.options(resources={"TPU": n}).remote()) for n in (1, 2, 4)]
    one = {"TPU_HOST_BOUNDS": "1,1,1"}
    assert layouts == [
        {"TPU_VISIBLE_CHIPS": "0", "TPU_CHIPS_PER_HOST_BOUNDS": "1,1,1", **one},
        {"TPU_VISIBLE_CHIPS": "0,1", "TPU_CHIPS_PER_HOST_BOUNDS": "1,2,1", **one},
        {"TPU_VISIBLE_CHIPS": "0,1,2,3"},
    ]


@pytest.mark.parametrize(
    ("value", "ids"),
    [("GPU-aa,GPU-bb", ["GPU-aa", "GPU-bb"]), ("MIG-1/2/0,MIG-1/3/0", ["MIG-1/2/0", "MIG-1/3/0"])],
)
def test_names_of_devices_are_kept(
    value: str, ids: list[str], fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(tmp_path, monkeypatch, "nvidia")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    fresh.init(address="local", num_cpus=2, log_to_driver=False)

    @fresh.remote(num_gpus=2)
    def look() -> Any:
        return fresh.get_gpu_ids(), os.environ["CUDA_VISIBLE_DEVICES"]

    assert fresh.get(look.remote()) == (ids, value)


@pytest.mark.parametrize("value", ["void", "none", ""])
def test_containers_that_are_given_no_gpu(
    value: str, fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(tmp_path, monkeypatch, "nvidia")
    monkeypatch.setenv("NVIDIA_VISIBLE_DEVICES", value)
    fresh.init(address="local", num_cpus=1, log_to_driver=False)
    assert "GPU" not in fresh.cluster_resources()


def test_families_of_gpus(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Declared and not detected: the family whose variable is set, else the one that is named, else NVIDIA."""
    monkeypatch.setenv(ROOT_VARIABLE, "/nonexistent")
    cases: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"EAGLERAY_GPU_FAMILY": "amd"}, shown("amd", "0", "")),
        ({"EAGLERAY_GPU_FAMILY": "amd", "ONEAPI_DEVICE_SELECTOR": "2"}, shown("intel", "2", "")),
        ({}, shown("nvidia", "0", "")),
    ]
    for variables, wanted in cases:
        with monkeypatch.context() as patch:
            for name, text in variables.items():
                patch.setenv(name, text)
            with fresh.init(address="local", num_cpus=1, num_gpus=1, log_to_driver=False):
                read = fresh.remote(num_gpus=1)(lambda: {v: os.environ[v] for v in VARIABLES if v in os.environ})
                assert fresh.get(read.remote()) == wanted


def test_contradicting_variables(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "2,3")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    with pytest.raises(ValueError, match=r"ROCR_VISIBLE_DEVICES=2,3 and HIP_VISIBLE_DEVICES=1 contradict"):
        fresh.init(address="local", num_gpus=1)


def test_unused_devices_can_stay_visible(fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the module ``ray`` sets: work without a GPU sees what the driver does."""
    machine(tmp_path, monkeypatch, "nvidia", "npu")
    monkeypatch.setenv("EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,3")
    fresh.init(address="local", num_cpus=1, log_to_driver=False)
    read = fresh.remote(lambda: {v: os.environ[v] for v in VARIABLES if v in os.environ})
    assert fresh.get(read.remote()) == {"CUDA_VISIBLE_DEVICES": "1,3"}
    assert fresh.get(read.options(num_gpus=1).remote()) == shown("nvidia", "1", "")


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--num-gpus=3"], {"CUDA_VISIBLE_DEVICES": "1,3"}, "3 devices declared, but CUDA_VISIBLE_DEVICES=1,3 limits"),
        (['--resources={"TPU": 2}'], {"TPU_VISIBLE_CHIPS": "0"}, "TPU: 2 devices declared, but TPU_VISIBLE_CHIPS=0"),
        (["--num-gpus=nan"], {}, '--num-gpus: "nan" is not a number'),
        (["--num-gpus=1.5"], {}, '--num-gpus: "1.5" is not a whole number'),
        (["--num-gpus=1"], {"EAGLERAY_GPU_FAMILY": "voodoo"}, "must be one of nvidia, amd, intel"),
    ],
)
def test_start_refuses(arguments: list[str], variables: dict[str, str], words: str, tmp_path: Path) -> None:
    command = [BINARY, "start", "--head", f"--temp-dir={tmp_path}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})
    assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr, done.stderr
