"""Making arrays."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from eagleray._private import native, numpy_extra
from eagleray.kernels import _devices, _dlpack, _native, _streams, _views
from eagleray.kernels.dtypes import DType, parse
from eagleray.kernels.errors import DTypeError

if TYPE_CHECKING:
    from eagleray.kernels._array import Array

Shape = int | tuple[int, ...] | list[int]


def empty(shape: Shape, dtype: Any = "float32", device: Any = None) -> Array:
    """An array whose elements are not set.

    Args:
        shape: Length of each axis, in elements.
        dtype: A name, numpy's dtype or a scalar type.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:N"``; None is ``default_device()``.

    Raises:
        ShapeError: a negative length, or more than 32 axes.
        DTypeError: arrays cannot hold the type.
        DeviceError: there is no such device.
        OutOfMemoryError: the device has no room.
    """
    return _new(shape, dtype, device, None)


def zeros(shape: Shape, dtype: Any = "float32", device: Any = None) -> Array:
    """An array of zeros; arguments and errors as ``empty``."""
    return _new(shape, dtype, device, 0)


def full(shape: Shape, value: int | float, dtype: Any = None, device: Any = None) -> Array:
    """An array of one number; further arguments and errors as ``empty``.

    Args:
        value: The number.
        dtype: By default int64 for an integer and float32 for a float.

    Raises:
        ScalarError: the integer does not fit the data type.
    """
    if dtype is None:
        dtype = "int64" if isinstance(value, int) else "float32"
    return _new(shape, dtype, device, value)


def _new(shape: Any, dtype: Any, device: Any, fill: int | float | None) -> Array:
    number = parse(dtype).number
    made: Array = _native.load().new(_devices.index_of(device), number, _views.check_shape(shape), fill)
    return made


def array(obj: Any, dtype: Any = None, device: Any = None, copy: bool | None = True) -> Array:
    """An array of what numpy, lists, numbers, buffers, DLPack or ``__cuda_array_interface__`` hold.

    Args:
        obj: The elements. Lists of floats become float32, of integers int64, unless ``dtype`` says otherwise.
        dtype: The result's type; by default the object's.
        device: Where the result is; None keeps device arrays where they are and puts everything else on
            ``default_device()``.
        copy: True always copies; None copies where it must; False raises instead of copying.

    Raises:
        DTypeError: arrays cannot hold the elements: cast them first.
        ValueError: ``copy=False`` and a copy is needed.
        DeviceError, OutOfMemoryError: as ``empty``.
    """
    wanted = parse(dtype) if dtype is not None else None
    source, own = _source(obj, wanted)
    target = source._cuda if device is None and (own or source._cuda >= 0) else _devices.index_of(device)
    fits = source._cuda == target and (wanted is None or source.dtype == wanted)
    if copy is False and not fits:
        raise ValueError(f"a {source.dtype} array on {source.device} cannot become this without a copy")
    if fits:
        return source.copy() if copy and (source is obj or not own or _shares(obj)) else source
    if wanted is not None and source.dtype != wanted:
        source = source.astype(wanted)
    return source.to(_devices.name_of(target))


def asarray(obj: Any, dtype: Any = None, device: Any = None) -> Array:
    """``array`` that copies only where it must.

    numpy's memory is shared on the host; an array with ``__cuda_array_interface__`` or DLPack is shared on its
    device, whose producer stays alive. A read-only object gives a read-only array.
    """
    source, _ = _source(obj, parse(dtype) if dtype is not None else None)
    if dtype is not None and source.dtype != parse(dtype):
        source = source.astype(dtype)
    return source if device is None else source.to(device)


def from_dlpack(obj: Any, device: Any = None, copy: bool | None = None) -> Array:
    """The memory of an object with ``__dlpack__``, which stays alive with it.

    Args:
        obj: A tensor of numpy, torch, cupy, jax or another library, on the host or a CUDA device.
        device: Where the result is; None is where the tensor is.
        copy: True always copies; None copies where it must; False raises instead.

    Raises:
        BufferError: the producer cannot export it.
        ValueError: ``copy=False`` and the tensor is on another device.
    """
    source = _dlpack.take(obj)
    if device is not None and _devices.index_of(device) != source._cuda:
        if copy is False:
            raise ValueError(f"the tensor is on {source.device}: it cannot come to {device} without a copy")
        return source.to(device)
    return source.copy() if copy else source


def adapt(obj: Any) -> Array:
    """What an operation makes of an argument that is neither an array nor a number."""
    if hasattr(obj, "__dlpack__") or hasattr(obj, "__cuda_array_interface__") or _is_buffer(obj):
        return _source(obj, None)[0]
    raise DTypeError(f"an Array or ndarray is needed, not {type(obj).__name__}: make one with kernels.array()")


def _source(obj: Any, wanted: DType | None) -> tuple[Array, bool]:
    """The object as an array, without a copy where that can be, and whether its device is to be kept."""
    if isinstance(obj, native.kern().Array):
        return obj, True
    if hasattr(obj, "__cuda_array_interface__"):
        return _of_cuda(obj), True
    numpy = _native.numpy_if_loaded()
    if numpy is not None and isinstance(obj, (numpy.ndarray, numpy.generic)):
        return _of_numpy(obj), False
    if hasattr(obj, "__dlpack__"):
        return _dlpack.take(obj), True
    if _is_buffer(obj):
        made: Array = _native.load().host(obj)
        return made, False
    return _of_values(obj, wanted), False


def _shares(obj: Any) -> bool:
    return hasattr(obj, "__cuda_array_interface__") or hasattr(obj, "__dlpack__") or _is_buffer(obj)


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _of_numpy(obj: Any) -> Array:
    import numpy

    if isinstance(obj, numpy.ma.MaskedArray):
        raise DTypeError("a masked array: arrays have no mask; call .filled(value) or .data first")
    array = numpy.asarray(obj)
    if not array.flags.aligned:
        array = array.copy()
    made: Array = _native.load().host(array)
    return made


def _of_values(obj: Any, wanted: DType | None) -> Array:
    """Lists, tuples, numbers, and what only numpy can read."""
    numpy = numpy_extra.need("an array of a list or a number")
    if wanted is not None and wanted != "bfloat16":
        made = numpy.asarray(obj, wanted.name)
    else:
        made = numpy.asarray(obj)
        if made.dtype == numpy.float64 and not hasattr(obj, "dtype"):
            made = made.astype(numpy.float32)
    if made.dtype.kind not in "fiu":
        raise DTypeError(f"{type(obj).__name__} with elements of {made.dtype}: arrays hold numbers only")
    array: Array = _native.load().host(made)
    return array


def _of_cuda(obj: Any) -> Array:
    """The memory that ``__cuda_array_interface__`` shows, kept alive by ``obj``."""
    about = obj.__cuda_array_interface__
    kern = _native.load()
    typestr = about["typestr"]
    if typestr[:1] == ">":
        raise DTypeError(f"elements of type {typestr!r}: arrays hold the machine's byte order")
    code = {"f2": 1, "f4": 3, "f8": 4, "i4": 5, "i8": 6, "u1": 7}.get(typestr[1:])
    if code is None or about.get("mask") is not None:
        raise DTypeError(f"elements of type {typestr!r}, masked or not: cast them first, without a mask")
    pointer, readonly = about["data"]
    shape = tuple(operator.index(length) for length in about["shape"])
    strides = about.get("strides")
    stream = about.get("stream")
    if stream == 0:
        raise ValueError("__cuda_array_interface__['stream'] is 0, which the protocol forbids")
    device = _device_of(obj)
    made: Array = kern.foreign(
        device, code, pointer, shape, None if strides is None else tuple(strides), bool(readonly), obj
    )
    if stream is not None:
        _streams.wait_for_native(device, int(stream))
    return made


def _device_of(obj: Any) -> int:
    """The CUDA device of a device array; the protocol does not say it, objects mostly do."""
    found = getattr(obj, "__dlpack_device__", None)
    if found is not None:
        kind, index = found()
        if int(kind) in (_native.DLPACK_CUDA, _native.DLPACK_CUDA_MANAGED):
            return int(index)
    device = getattr(obj, "device", None)
    for name in ("index", "id"):
        index = getattr(device, name, None)
        if isinstance(index, int):
            return index
    return 0
