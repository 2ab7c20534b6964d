"""Arrays that stay on their device, and operations on them.

An ``Array`` lives on the host (``"cpu"``) or on a CUDA device (``"cuda:0"``) and stays there across calls: an actor
keeps an array and calls operations on it without a copy between them. The same code runs on both. ``default_device()``
is the GPU that the task or actor was given, else the host. Operations also accept numpy's arrays: ``mul_two(ndarray)``
returns a new ndarray.

Importing this module loads nothing: the names below load what they need when they are first used, and the CUDA driver
is not touched before a CUDA device is asked for.
"""

from __future__ import annotations

import importlib

from eagleray._private import hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eagleray.kernels._array import Array as Array
    from eagleray.kernels._compile import Kernel as Kernel
    from eagleray.kernels._compile import compile as compile
    from eagleray.kernels._devices import DeviceInfo as DeviceInfo
    from eagleray.kernels._devices import default_device as default_device
    from eagleray.kernels._devices import device_bytes as device_bytes
    from eagleray.kernels._devices import device_info as device_info
    from eagleray.kernels._devices import devices as devices
    from eagleray.kernels._fuse import Chain as Chain
    from eagleray.kernels._fuse import fuse as fuse
    from eagleray.kernels._make import array as array
    from eagleray.kernels._make import asarray as asarray
    from eagleray.kernels._make import empty as empty
    from eagleray.kernels._make import from_dlpack as from_dlpack
    from eagleray.kernels._make import full as full
    from eagleray.kernels._make import zeros as zeros
    from eagleray.kernels._ops import add as add
    from eagleray.kernels._ops import axpy as axpy
    from eagleray.kernels._ops import cast as cast
    from eagleray.kernels._ops import clip as clip
    from eagleray.kernels._ops import copy as copy
    from eagleray.kernels._ops import div as div
    from eagleray.kernels._ops import dot as dot
    from eagleray.kernels._ops import exp as exp
    from eagleray.kernels._ops import matmul as matmul
    from eagleray.kernels._ops import max as max
    from eagleray.kernels._ops import mean as mean
    from eagleray.kernels._ops import min as min
    from eagleray.kernels._ops import mul as mul
    from eagleray.kernels._ops import mul_two as mul_two
    from eagleray.kernels._ops import relu as relu
    from eagleray.kernels._ops import scale as scale
    from eagleray.kernels._ops import softmax as softmax
    from eagleray.kernels._ops import sub as sub
    from eagleray.kernels._ops import sum as sum
    from eagleray.kernels._streams import Event as Event
    from eagleray.kernels._streams import Stream as Stream
    from eagleray.kernels._streams import current_stream as current_stream
    from eagleray.kernels._streams import synchronize as synchronize
    from eagleray.kernels.dtypes import DType as DType
    from eagleray.kernels.dtypes import bfloat16 as bfloat16
    from eagleray.kernels.dtypes import float16 as float16
    from eagleray.kernels.dtypes import float32 as float32
    from eagleray.kernels.dtypes import float64 as float64
    from eagleray.kernels.dtypes import int32 as int32
    from eagleray.kernels.dtypes import int64 as int64
    from eagleray.kernels.dtypes import uint8 as uint8
    from eagleray.kernels.errors import ArgumentError as ArgumentError
    from eagleray.kernels.errors import ClosedError as ClosedError
    from eagleray.kernels.errors import CompileError as CompileError
    from eagleray.kernels.errors import DeviceArrayError as DeviceArrayError
    from eagleray.kernels.errors import DeviceError as DeviceError
    from eagleray.kernels.errors import DriverError as DriverError
    from eagleray.kernels.errors import DTypeError as DTypeError
    from eagleray.kernels.errors import KernelError as KernelError
    from eagleray.kernels.errors import OutOfMemoryError as OutOfMemoryError
    from eagleray.kernels.errors import ReadOnlyError as ReadOnlyError
    from eagleray.kernels.errors import ScalarError as ScalarError
    from eagleray.kernels.errors import ShapeError as ShapeError
    from eagleray.kernels.errors import UnsupportedError as UnsupportedError

# Module → the public names in it.
_MODULES = {
    "_array": "Array",
    "_compile": "Kernel compile",
    "_devices": "DeviceInfo default_device device_bytes device_info devices",
    "_fuse": "Chain fuse",
    "_make": "array asarray empty from_dlpack full zeros",
    "_ops": ("add axpy cast clip copy div dot exp matmul max mean min mul mul_two relu scale softmax sub sum"),
    "_streams": "Event Stream current_stream synchronize",
    "dtypes": "DType bfloat16 float16 float32 float64 int32 int64 uint8",
    "errors": (
        "ArgumentError ClosedError CompileError DTypeError DeviceArrayError DeviceError DriverError KernelError "
        "OutOfMemoryError ReadOnlyError ScalarError ShapeError UnsupportedError"
    ),
}
_NAMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [*_NAMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    where = _NAMES.get(name)
    if where is None:
        raise AttributeError(f"module 'eagleray.kernels' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"eagleray.kernels.{where}"), name)
    globals()[name] = value
    return value


def _for_the_extension() -> tuple[Any, ...]:
    """What the C extension is configured with: the class of arrays, the data types, who makes errors and arrays."""
    names = ("_array.Array", "dtypes.ALL", "errors.make", "_make.adapt")
    found = (name.split(".") for name in names)
    return tuple(getattr(importlib.import_module(f"eagleray.kernels.{module}"), name) for module, name in found)


hooks.register(hooks.KERNELS, _for_the_extension)
hooks.register(hooks.ASSIGN_TO_ARRAY, lambda: importlib.import_module("eagleray.kernels._assign").assign)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
