"""DLPack, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eagleray.kernels import _native, _streams

if TYPE_CHECKING:
    from eagleray.kernels._array import Array

CPU, CUDA = 1, 2


def export(
    array: Array,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """A capsule of the array's memory, or of a copy: see ``Array.__dlpack__``."""
    if array._cuda < 0 and stream is not None:
        raise BufferError(f"the array is on the host: stream must be None, got {stream!r}")
    here = array.__dlpack_device__()
    copied = False
    if dl_device is not None and tuple(map(int, dl_device)) != here:
        wanted = (int(dl_device[0]), int(dl_device[1]))
        if copy is False or wanted[0] not in (CPU, CUDA):
            raise BufferError(f"the array is on DLPack device {here}: it cannot be exported to {wanted}")
        array = array.to("cpu" if wanted[0] == CPU else f"cuda:{wanted[1]}")
        copied = True
    elif copy:
        array = array.copy()
        copied = True
    versioned = max_version is not None and max_version[0] >= 1
    if array.readonly and not versioned:
        raise BufferError("the array is read-only, which a capsule before DLPack 1.0 cannot say: copy it first")
    if array._cuda >= 0 and stream != -1:
        _streams.before_export(array._cuda)
    return _native.load().dlpack(array, versioned, copied)


def take(obj: Any) -> Array:
    """The array that a producer exports, on the device where it is."""
    kern = _native.load()
    if type(obj).__name__ == "PyCapsule":
        made: Array = kern.from_dlpack(obj)
        return made
    kind, index = obj.__dlpack_device__()
    arguments: dict[str, Any] = {}
    if int(kind) in (CUDA, 13):
        arguments["stream"] = _streams.native_of_current(int(index))
    try:
        capsule = obj.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:  # a producer from before max_version
        capsule = obj.__dlpack__(**arguments)
    array: Array = kern.from_dlpack(capsule)
    return array
