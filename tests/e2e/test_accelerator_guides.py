"""The accelerator guides' programs as their readers paste them: `import ray`, and a stand-in for TensorFlow."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray._private.cli import BINARY

COMPAT = Path(__file__).parents[2] / "python" / "ray_compat"
#: What of TensorFlow the programs use. A session is limited to what the variable says when it is made; the library may
#: also look when it is imported.
TENSORFLOW = """
import os

IMPORTED = os.environ.get("CUDA_VISIBLE_DEVICES")


class Session:
    def __init__(self):
        self.visible = os.environ.get("CUDA_VISIBLE_DEVICES")
"""


@pytest.fixture
def guide(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs a program that finds ``ray`` and ``tensorflow`` and, unless stated otherwise, no visibility variable."""
    package = tmp_path / "libraries" / "tensorflow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TENSORFLOW)
    for name in ("CUDA_VISIBLE_DEVICES", "RAY_ADDRESS", "EAGLERAY_ADDRESS", "EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.delenv(name, raising=False)
    folder = tempfile.mkdtemp(prefix="er", dir="/tmp")  # the paths of sockets must be short
    monkeypatch.setenv("EAGLERAY_TMPDIR", folder)
    monkeypatch.setenv("EAGLERAY_PYTHON", sys.executable)
    path = os.pathsep.join(filter(None, [str(package.parent), str(COMPAT), os.environ.get("PYTHONPATH")]))

    def run(source: str, **variables: str) -> str:
        return script(source, env={**os.environ, "PYTHONPATH": path, **variables}).stdout

    yield run
    shutil.rmtree(folder)


def test_tensorflow_at_the_top_of_the_program(guide: Any) -> None:
    found = guide(
        """
        import os, time
        import ray
        import tensorflow as tf

        ray.init(num_cpus=4, num_gpus=4)

        def all_free():  # a process gives its device back when it has ended
            while ray.available_resources().get("GPU") != 4:
                time.sleep(0.01)

        @ray.remote(num_gpus=1)
        def use_gpu():
            return tf.Session().visible, tf.IMPORTED, ray.get_gpu_ids()

        @ray.remote(num_gpus=2)
        def gpu_method():
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, ray.get_gpu_ids()))
            sess = tf.Session()
            return f"This function is allowed to use GPUs {ray.get_gpu_ids()}.", sess.visible

        @ray.remote(num_gpus=1)
        class GPUActor(object):
            def __init__(self):
                self.gpu_ids = ray.get_gpu_ids()
                os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, self.gpu_ids))
                self.sess = tf.Session()
                return "This actor is allowed to use GPUs {}.".format(self.gpu_ids)

            def seen(self):
                return self.sess.visible, tf.IMPORTED, self.gpu_ids

        print(ray.get(use_gpu.remote()))
        all_free()
        print(ray.get(gpu_method.remote()))
        all_free()
        actors = [GPUActor.remote() for _ in range(4)]
        print(sorted(ray.get([actor.seen.remote() for actor in actors])))
        print(tf.Session().visible, ray.get_gpu_ids())
        """
    )
    assert found.splitlines() == [
        "('0', '0', [0])",
        "('This function is allowed to use GPUs [0, 1].', '0,1')",
        "[('0', '0', [0]), ('1', '1', [1]), ('2', '2', [2]), ('3', '3', [3])]",
        "None []",
    ]


def test_tensorflow_inside(guide: Any) -> None:
    """Imported in a task that never frees its memory, and in an actor."""
    found = guide(
        """
        import os
        import ray
        ray.init(num_cpus=4, num_gpus=1)

        @ray.remote(num_gpus=1)
        def leak_gpus():
            import tensorflow as tf
            leak_gpus.session = tf.Session()
            return os.getpid(), leak_gpus.session.visible, tf.IMPORTED

        @ray.remote(num_gpus=0.5)
        class Network:
            def __init__(self):
                import tensorflow as tf
                self.sess = tf.Session()

            def visible(self):
                return self.sess.visible

        @ray.remote
        def without():
            import tensorflow as tf
            return tf.Session().visible

        leaks = [ray.get(leak_gpus.remote()) for _ in range(3)]
        print(len({pid for pid, *_ in leaks}), [seen for _, *seen in leaks])
        print(ray.get([n.visible.remote() for n in [Network.remote(), Network.remote()]]))
        print(ray.get(without.remote()))
        """
    )
    assert found.splitlines() == ["3 [['0', '0'], ['0', '0'], ['0', '0']]", "['0', '0']", "None"]


def test_what_the_guide_prints(guide: Any) -> None:
    found = guide(
        """
        import os
        import ray

        ray.init(num_cpus=4, num_gpus=2, resources={"accelerator_type:V100": 1})

        @ray.remote(num_gpus=1)
        class GPUActor:
            def ping(self):
                print("GPU IDs: {}".format(ray.get_runtime_context().get_accelerator_ids()["GPU"]))
                print("CUDA_VISIBLE_DEVICES: {}".format(os.environ["CUDA_VISIBLE_DEVICES"]))

        @ray.remote(num_gpus=1)
        def use_gpu():
            print("GPU IDs: {}".format(ray.get_runtime_context().get_accelerator_ids()["GPU"]))
            print("CUDA_VISIBLE_DEVICES: {}".format(os.environ["CUDA_VISIBLE_DEVICES"]))

        gpu_actor = GPUActor.remote()
        ray.get(gpu_actor.ping.remote())
        ray.get(use_gpu.remote())
        del gpu_actor

        from ray.util.accelerators import NVIDIA_TESLA_V100

        @ray.remote(num_gpus=1, accelerator_type=NVIDIA_TESLA_V100)
        def train(data):
            return "This function was run on a node with a Tesla V100 GPU"

        print(ray.get(train.remote(1)))
        ray.shutdown()
        """
    )
    lines = [re.sub(r"pid=\d+", "pid=1", line) for line in found.splitlines()]
    # Each process's lines come in their order; what different processes print may come in any.
    assert {who: [line for line in lines if line.startswith(who)] for who in ("(GPUActor", "(use_gpu", "This")} == {
        "(GPUActor": ["(GPUActor pid=1) GPU IDs: ['0']", "(GPUActor pid=1) CUDA_VISIBLE_DEVICES: 0"],
        "(use_gpu": ["(use_gpu pid=1) GPU IDs: ['1']", "(use_gpu pid=1) CUDA_VISIBLE_DEVICES: 1"],
        "This": ["This function was run on a node with a Tesla V100 GPU"],
    }
    assert len(lines) == 5


def test_three_halves_on_three_devices(guide: Any) -> None:
    found = guide(
        """
        import ray
        ray.init(num_cpus=4, num_gpus=3)

        @ray.remote(num_gpus=0.5)
        class FractionalGPUActor:
            def ping(self):
                print(f"GPU id: {ray.get_runtime_context().get_accelerator_ids()['GPU']}")

        actors = [FractionalGPUActor.remote() for _ in range(3)]
        [ray.get(actor.ping.remote()) for actor in actors]
        ray.shutdown()
        """
    )
    lines = [line.split(") ")[1] for line in found.splitlines()]
    assert lines == ["GPU id: ['0']", "GPU id: ['0']", "GPU id: ['1']"]


@pytest.mark.parametrize(
    ("variable", "arguments", "resource"),
    [
        ("CUDA_VISIBLE_DEVICES", ["--num-gpus=2"], "GPU"),
        ("ROCR_VISIBLE_DEVICES", ["--num-gpus=2"], "GPU"),
        ("ONEAPI_DEVICE_SELECTOR", ["--num-gpus=2"], "GPU"),
        ("NEURON_RT_VISIBLE_CORES", ['--resources={"neuron_cores": 2}'], "neuron_cores"),
        ("TPU_VISIBLE_CHIPS", ['--resources={"TPU": 2}'], "TPU"),
        ("HABANA_VISIBLE_MODULES", ['--resources={"HPU": 2}'], "HPU"),
        ("ASCEND_RT_VISIBLE_DEVICES", ['--resources={"NPU": 2}'], "NPU"),
    ],
)
def test_started_with_a_variable(guide: Any, variable: str, arguments: list[str], resource: str) -> None:
    """As the guide has it: VARIABLE=1,3 start --head …; programs that join see devices 1 and 3."""
    env = {**os.environ, variable: "1,3"}
    start = [BINARY, "start", "--head", "--num-cpus=2", *arguments]
    subprocess.run(start, env=env, check=True, capture_output=True, timeout=60)
    try:
        found = guide(
            f"""
            import os
            import ray
            ray.init()
            amount = dict(num_gpus=2) if {resource!r} == "GPU" else dict(resources={{{resource!r}: 2}})

            @ray.remote(**amount)
            def look():
                return ray.get_runtime_context().get_accelerator_ids()[{resource!r}], os.environ[{variable!r}]

            print(ray.get(look.remote()))
            """
        )
    finally:
        subprocess.run([BINARY, "stop"], env=env, check=True, capture_output=True, timeout=60)
    assert found == "(['1', '3'], '1,3')\n"
