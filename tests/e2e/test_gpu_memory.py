"""Memory of GPUs as a resource: who gets which device, what shows, what can never be."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from itertools import pairwise
from typing import Any

import eagleray
import pytest
from eagleray._private.sizes import parse_bytes
from pace import PATIENCE_S, Calm, becomes, meet

GIB = 2**30
SIZES = pathlib.Path(__file__).parents[2] / "core" / "internal" / "resource" / "testdata" / "sizes.json"


@pytest.fixture(scope="module")
def session() -> Any:
    """Two GPUs with 40 GiB each; no machine needs to have them."""
    with eagleray.init(
        address="local",
        num_cpus=4,
        num_gpus=2,
        gpu_memory="40GiB",
        object_store_memory=200_000_000,
        log_to_driver=False,
    ) as context:
        yield context


def free(ray: Any, name: str = "gpu_memory") -> float:
    return ray.available_resources().get(name, 0.0) / (GIB if name == "gpu_memory" else 1)


def holder(ray: Any) -> Any:
    @ray.remote(num_cpus=0)
    class Holder:
        def seen(self) -> Any:
            context = ray.get_runtime_context()
            return context.get_accelerator_ids()["GPU"], os.environ["CUDA_VISIBLE_DEVICES"], ray.get_gpu_ids()

        def held(self) -> dict[str, float]:
            return ray.get_runtime_context().get_assigned_resources()

    return Holder


def test_sizes_are_read_as_in_go() -> None:
    table = json.loads(SIZES.read_text())
    assert {text: parse_bytes("size", text) for text in table["good"]} == table["good"]
    for text, problem in table["bad"].items():
        with pytest.raises(ValueError, match=problem):
            parse_bytes("size", text)


def test_several_actors_to_a_device_by_memory(ray: Any) -> None:
    becomes(lambda: (free(ray), free(ray, "GPU")), (80.0, 2.0))
    assert ray.cluster_resources()["gpu_memory"] == 80 * GIB
    Holder = holder(ray)
    thirds = [Holder.options(gpu_memory=f"{size}GiB").remote() for size in (13, 13, 14, 30)]
    assert [ray.get(a.seen.remote()) for a in thirds] == [(["0"], "0", [0])] * 3 + [(["1"], "1", [1])]
    assert ray.get(thirds[0].held.remote()) == {"gpu_memory": 13.0 * GIB}
    assert free(ray) == 10.0 and free(ray, "GPU") == 0.25
    small = Holder.options(num_gpus=0.25).remote()
    assert ray.get(small.seen.remote())[0] == ["1"]
    assert free(ray) == 0.0 and free(ray, "GPU") == 0.0
    ray.kill(thirds[3])
    becomes(lambda: free(ray), 30.0)
    del thirds, small
    becomes(lambda: (free(ray), free(ray, "GPU")), (80.0, 2.0))


def test_tasks_wait_for_memory(ray: Any, tmp_path: pathlib.Path) -> None:
    @ray.remote(num_cpus=0, gpu_memory=25 * GIB)
    def hold() -> tuple[str, float, float]:
        start = time.monotonic()
        meet(tmp_path, 2)  # the first two, one on each device
        return os.environ["CUDA_VISIBLE_DEVICES"], start, time.monotonic()

    runs = ray.get([hold.remote() for _ in range(4)], timeout=PATIENCE_S)
    for device in "01":
        spans = sorted((start, end) for on, start, end in runs if on == device)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert {on for on, _, _ in runs} == {"0", "1"}


def test_fractions_and_bytes_share_one_account(ray: Any) -> None:
    Holder = holder(ray)
    becomes(lambda: free(ray), 80.0)
    half = Holder.options(num_gpus=0.5).remote()
    assert ray.get(half.seen.remote())[0] == ["0"]
    assert free(ray) == 60.0
    large = Holder.options(gpu_memory="21GiB").remote()
    assert ray.get(large.seen.remote())[0] == ["1"], "beside a half of 40 GiB there is no room for 21"
    both = Holder.options(num_gpus=0.25, gpu_memory="19GiB").remote()
    assert ray.get(both.seen.remote())[0] == ["1"], "the fullest that has it"
    assert ray.get(both.held.remote()) == {"GPU": 0.25, "gpu_memory": 19.0 * GIB}
    assert free(ray) == 20.0

    @ray.remote(num_cpus=0, num_gpus=1)
    def whole() -> str:
        return os.environ["CUDA_VISIBLE_DEVICES"]

    ref = whole.remote()
    assert ray.wait([ref], timeout=0.3)[0] == [], "no device is whole"
    del half, large, both
    assert ray.get(ref, timeout=PATIENCE_S) in ("0", "1")


def test_whole_devices_with_so_much_memory_each(ray: Any) -> None:
    @ray.remote(num_gpus=2, gpu_memory="40GiB")
    def two() -> str:
        return os.environ["CUDA_VISIBLE_DEVICES"]

    assert ray.get(two.remote()) == "0,1"
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="largest has 40 GiB"):
        ray.get(two.options(gpu_memory="41GiB").remote(), timeout=PATIENCE_S)


def test_a_worker_with_memory_of_a_device_is_not_used_again(ray: Any) -> None:
    @ray.remote(gpu_memory="1GiB")
    def pid() -> int:
        return os.getpid()

    assert len({ray.get(pid.remote()) for _ in range(3)}) == 3


def test_what_no_device_has_raises_at_once(ray: Any) -> None:
    @ray.remote(gpu_memory="80GiB")
    def greedy() -> None: ...

    @ray.remote(gpu_memory="80GiB")
    class Greedy: ...

    with Calm() as clock:
        with pytest.raises(ray.exceptions.TaskUnschedulableError, match=r"asked 80 GiB of one device.* has 40 GiB"):
            ray.get(greedy.remote(), timeout=PATIENCE_S)
        with pytest.raises(ray.exceptions.ActorUnschedulableError, match="largest GPU has 40 GiB"):
            Greedy.remote()
        assert clock() < 1


@pytest.mark.parametrize("value", [0, -1, "0GiB", "lots", "8", "8G", "-1GiB", 10**15])
def test_what_is_no_size_is_refused(ray: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="gpu_memory"):
        ray.remote(gpu_memory=value)(lambda: None)


@pytest.mark.parametrize("value", [0.5, 1e9, float("nan"), float("inf"), True, [1], b"8GiB"])
def test_what_is_no_text_or_whole_number_is_refused(ray: Any, value: Any) -> None:
    with pytest.raises(TypeError, match="gpu_memory takes whole bytes or a text such as '8GiB'"):
        ray.remote(gpu_memory=value)(lambda: None)


def test_wrong_combinations_are_refused(ray: Any) -> None:
    with pytest.raises(ValueError, match="gpu_memory_enforce=True needs gpu_memory"):
        ray.remote(gpu_memory_enforce=True)(lambda: None)
    with pytest.raises(ValueError, match="gpu_memory_enforce=True needs gpu_memory"):
        ray.remote(num_gpus=1, gpu_memory_enforce=True)(type("A", (), {}))
    with pytest.raises(ValueError, match="Use the 'gpu_memory' keyword"):
        ray.remote(resources={"gpu_memory": 1})(lambda: None)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"num_gpus": 0, "gpu_memory": "1GiB"}, "this node has no GPU"),
        ({"num_gpus": 2, "gpu_memory": ["1GiB", "2GiB", "3GiB"]}, "3 sizes for 2 GPUs"),
        ({"num_gpus": 2, "gpu_memory": []}, "empty list"),
        ({"num_gpus": 2, "gpu_memory": "much"}, "is not a size"),
        ({"num_gpus": 2, "gpu_memory": "60TB"}, "at most"),
        ({"resources": {"gpu_memory": 1}}, "use the keyword 'gpu_memory'"),
    ],
)
def test_wrong_declarations_are_refused(given: dict[str, Any], problem: str) -> None:
    code = (
        f"import eagleray\ntry:\n    eagleray.init(address='local', **{given!r})\nexcept ValueError as e:\n    print(e)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert problem in ran.stdout, ran.stdout + ran.stderr


def run(code: str, **variables: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_unknown_memory_says_to_declare_it() -> None:
    out = run(
        """
        import eagleray as ray
        ray.init(address="local", num_cpus=1, num_gpus=1, log_to_driver=False)
        assert "gpu_memory" not in ray.cluster_resources()
        @ray.remote(gpu_memory="1GiB")
        def f(): ...
        @ray.remote(gpu_memory="1GiB")
        class A: ...
        for attempt in (lambda: ray.get(f.remote(), timeout=60), A.remote):
            try:
                attempt()
            except ray.exceptions.RayError as error:
                print(type(error).__name__, error)
        """,
        EAGLERAY_DEVICE_ROOT="/nonexistent",
    )
    assert "TaskUnschedulableError" in out and "ActorUnschedulableError" in out
    assert out.count("is not known: declare it, init(gpu_memory=") == 2


def fake_node(root: pathlib.Path) -> dict[str, str]:
    """A file system with two NVIDIA devices, and a tool that tells their memory once the file "go" is there."""
    for index in range(2):
        (root / "dev").mkdir(exist_ok=True)
        (root / "dev" / f"nvidia{index}").touch()
        gpu = root / "proc/driver/nvidia/gpus" / f"0000:0{index}:00.0"
        gpu.mkdir(parents=True)
        (gpu / "information").write_text(f"Model: NVIDIA A100\nGPU UUID: GPU-{index}\nDevice Minor: {index}\n")
    tools = root / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(f"""#!/bin/sh
echo $$ > {root}/asked
while ! test -e {root}/go; do sleep 0.01; done
echo '0, GPU-0, 16384'
echo '1, GPU-1, 81920'
""")
    (tools / "nvidia-smi").chmod(0o755)
    return {"EAGLERAY_DEVICE_ROOT": str(root), "EAGLERAY_DEVICE_TOOLS": str(tools)}


def test_detected_memory_is_waited_for(tmp_path: pathlib.Path) -> None:
    out = run(
        """
        import os
        import eagleray as ray
        root = os.environ["EAGLERAY_DEVICE_ROOT"]
        ray.init(address="local", num_cpus=2, log_to_driver=False)
        asked = os.path.exists(f"{root}/asked") and open(f"{root}/asked").read().strip()
        print("waits for it" if asked and not os.path.exists(f"/proc/{asked}") else "quick")
        open(f"{root}/go", "w").close()
        @ray.remote(gpu_memory="20GiB")
        def f():
            return os.environ["CUDA_VISIBLE_DEVICES"]
        print(ray.get(f.remote(), timeout=20))
        print(ray.cluster_resources()["gpu_memory"] / 2**30, ray.nodes()[0]["Resources"]["gpu_memory"] / 2**30)
        """,
        **fake_node(tmp_path),
    )
    assert out.split() == ["quick", "1", "96.0", "96.0"]


def test_the_command_line_declares_and_shows_it() -> None:
    command = [str(pathlib.Path(eagleray.__file__).parent / "_bin" / "eagleray")]
    folder = tempfile.mkdtemp(prefix="er")  # sockets' paths must be short
    env = {**os.environ, "EAGLERAY_TMPDIR": folder}
    start = ["start", "--head", "--num-cpus=1", "--num-gpus=2", "--object-store-memory=100000000"]

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *args], env=env, capture_output=True, text=True, timeout=60)

    wrong = call(*start, "--gpu-memory=16G")
    assert wrong.returncode != 0 and '--gpu-memory: "16G" is not a size' in wrong.stderr
    try:
        assert "40 GiB GPU memory" in call(*start, "--gpu-memory=16GiB,24GiB").stdout
        assert "0 B / 40 GiB" in call("status").stdout
    finally:
        call("stop")
        shutil.rmtree(folder)
