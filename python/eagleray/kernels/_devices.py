"""Devices by name."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from eagleray._private.context import here
from eagleray._private.state import WORKER, process
from eagleray.kernels import _native
from eagleray.kernels.errors import DeviceError

CPU = -1
_CUDA = re.compile(r"cuda(?::(\d+))?")


class DeviceInfo(NamedTuple):
    """What a device says about itself.

    Attributes:
        device: ``"cpu"`` or ``"cuda:N"``.
        name: The product.
        uuid: Of a CUDA device.
        total_memory: Bytes.
        free_memory: Bytes that are free now.
        capability: Compute capability of a CUDA device, else (0, 0).
    """

    device: str
    name: str
    uuid: str
    total_memory: int
    free_memory: int
    capability: tuple[int, int]


def devices() -> list[str]:
    """The devices that this process sees: ``"cpu"``, then ``"cuda:0"`` and so on.

    This loads the CUDA driver: it must not run before the process's visible devices are settled, and does not in a
    worker that was given none.
    """
    return ["cpu", *(f"cuda:{index}" for index in range(cuda_count()))]


def default_device() -> str:
    """Where arrays are made that no device was named for.

    ``"cuda:0"`` in a task or actor that was given a GPU, and in a program outside of workers that sees one; else
    ``"cpu"``.
    """
    return name_of(default_index())


def device_info(device: Any = None) -> DeviceInfo:
    """What the device, or the default one, says about itself.

    Raises:
        DeviceError: there is no such device.
    """
    index = index_of(device)
    name, uuid, total, free, major, minor = _native.load().describe(index)
    return DeviceInfo(name_of(index), name or "", uuid or "", total, free, (major, minor))


def device_bytes() -> int:
    """How many bytes of CUDA devices this process has allocated for arrays and not freed, of all devices together.

    Contexts of the driver are not counted, nor is memory of others: arrays of other processes and of other libraries.
    It does not load the driver.
    """
    return int(_native.load().device_bytes())


def cuda_count() -> int:
    """How many CUDA devices this process may use."""
    return 0 if _without_gpu() else int(_native.load().count()[0])


def default_index() -> int:
    """The default device's number, -1 for the host."""
    return 0 if cuda_count() else CPU


def index_of(device: Any) -> int:
    """The number of a device that is named as ``"cpu"``, ``"cuda"``, ``"cuda:1"``; None is the default one.

    Raises:
        DeviceError: the name is no device's.
    """
    if device is None:
        return default_index()
    name = str(device)
    if name in ("cpu", "cpu:0"):
        return CPU
    found = _CUDA.fullmatch(name)
    if found is None:
        raise DeviceError(f"device {name!r} is not known: use 'cpu', 'cuda' or 'cuda:N'")
    index = int(found[1] or 0)
    if index >= 1 << 16:
        raise DeviceError(f"there is no device {name!r}")
    return index


def name_of(index: int) -> str:
    """The name of the device with this number."""
    return "cpu" if index == CPU else f"cuda:{index}"


def _without_gpu() -> bool:
    """Whether this is a worker that was given no GPU: the driver is not touched there."""
    session = process.session
    return session is not None and session.role == WORKER and not here.devices.get("GPU")
