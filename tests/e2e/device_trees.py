"""Files that make a machine look as if it had accelerators, and what each family's are called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

#: The daemon looks for devices under this folder instead of ``/``, and for vendors' tools nowhere else.
ROOT_VARIABLE = "EAGLERAY_DEVICE_ROOT"


class Family(NamedTuple):
    """How one family shows."""

    resource: str
    variable: str
    files: Callable[[int], dict[str, str]]
    kind: str
    #: What work without a device sees.
    nothing: str = ""
    #: How a variable that the daemon did not have begins.
    form: str = ""


def nvidia(count: int) -> dict[str, str]:
    found = {"dev/nvidiactl": ""}
    for n in range(count):
        found[f"dev/nvidia{n}"] = ""
        found[f"proc/driver/nvidia/gpus/0000:0{n}:00.0/information"] = (
            f"Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t GPU-{n}\nDevice Minor: \t {n}\n"
        )
    return found


def amd(count: int) -> dict[str, str]:
    nodes = "sys/class/kfd/kfd/topology/nodes"
    found = {"sys/module/amdgpu/initstate": "live\n", "dev/kfd": "", f"{nodes}/0/gpu_id": "0\n"}
    for n in range(count):
        found[f"{nodes}/{n + 1}/gpu_id"] = f"5{n}\n"
        found[f"{nodes}/{n + 1}/properties"] = f"device_id 29857\ndrm_render_minor {128 + n}\n"
        found[f"dev/dri/renderD{128 + n}"] = ""
    return found


def intel(count: int) -> dict[str, str]:
    found = {}
    for n in range(count):
        name = f"renderD{128 + n}"
        found[f"dev/dri/{name}"] = ""
        found[f"sys/class/drm/{name}/device/vendor"] = "0x8086\n"
        found[f"sys/class/drm/{name}/device/device"] = "0x0bd5\n"
    return found


def tpu(count: int) -> dict[str, str]:
    found = {}
    for n in range(count):
        found[f"dev/accel{n}"] = ""
        found[f"sys/class/accel/accel{n}/device/vendor"] = "0x1ae0\n"
        found[f"sys/class/accel/accel{n}/device/device"] = "0x005e\n"
    return found


def neuron(count: int) -> dict[str, str]:
    return {"opt/aws/neuron/bin/neuron-ls": f'#!/bin/sh\necho \'[{{"neuron_device": 0, "nc_count": {count}}}]\'\n'}


def hpu(count: int) -> dict[str, str]:
    found = {}
    for n in range(count):
        found[f"dev/accel/accel{n}"] = ""
        device = f"sys/class/accel/accel{n}/device"
        found.update({f"{device}/vendor": "0x1da3", f"{device}/device": "0x1020", f"{device}/module_id": f"{n}"})
    return found


def npu(count: int) -> dict[str, str]:
    found = {f"dev/davinci{n}": "" for n in range(count)}
    found["usr/local/sbin/npu-smi"] = "#!/bin/sh\necho '| 0     910B4               | OK            | 83.6 |'\n"
    return found


FAMILIES = {
    "nvidia": Family("GPU", "CUDA_VISIBLE_DEVICES", nvidia, "A100"),
    "amd": Family("GPU", "ROCR_VISIBLE_DEVICES", amd, "AMD-Instinct-MI300X-OAM"),
    "intel": Family("GPU", "ONEAPI_DEVICE_SELECTOR", intel, "Intel-GPU-Max-1550", "!*:gpu", "level_zero:"),
    "tpu": Family("TPU", "TPU_VISIBLE_CHIPS", tpu, "TPU-V4"),
    "neuron": Family("neuron_cores", "NEURON_RT_VISIBLE_CORES", neuron, "aws-neuron-core"),
    "hpu": Family("HPU", "HABANA_VISIBLE_MODULES", hpu, "Intel-GAUDI2"),
    "npu": Family("NPU", "ASCEND_RT_VISIBLE_DEVICES", npu, "Ascend910B4"),
}
#: All variables by which processes are shown devices.
VARIABLES = (*(family.variable for family in FAMILIES.values()), "HIP_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


def build(root: Path, files: dict[str, str]) -> Path:
    """Writes files under a folder; those that begin like a program can be run."""
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    return root
