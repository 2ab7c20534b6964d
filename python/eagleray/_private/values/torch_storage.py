"""The memory of torch's tensors on the CPU, as buffers beside the pickle.

torch writes the memory of each tensor into the pickle, by way of two further copies, and a view as a tensor of its own.
Here a storage is one buffer, however many tensors look at it, and they share it again where the value is read.

A reader copies the buffer, so that a program may train what it got. Where ``VARIABLE`` is set in the process that
writes, the reader's tensors lie in the object store itself: torch has no tensors that are read-only, so a program must
not write into those, and one that does is ended by the kernel.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import types
from typing import Any

from eagleray._private import numpy_extra

#: Ray's variable. "1" or "true" set it.
VARIABLE = "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS"
#: A storage below this size stays in the pickle.
SMALL = 4096


def reduce(obj: Any) -> Any:
    """What takes the place of a storage, or of a tensor, in a pickle; ``NotImplemented`` where torch is to write it."""
    torch = sys.modules["torch"]
    if "numpy" not in sys.modules:
        return NotImplemented
    kind = type(obj)
    if kind is torch.storage.TypedStorage:
        untyped = obj._untyped_storage
        return (_typed, (untyped, obj.dtype)) if untyped.device.type == "cpu" else NotImplemented
    if kind is torch.UntypedStorage and obj.device.type == "cpu":
        return _reduce_memory(torch, obj)
    if kind is torch.Tensor and obj.device.type == "cpu" and obj.dtype in torch.storage._new_dtypes():
        rebuild, values, *more = obj.__reduce_ex__(5)
        # torch's function takes a storage with a type, and torch's pickle has one without. Only torch.load mends that.
        return (_rebuild_v3 if rebuild is torch._utils._rebuild_tensor_v3 else rebuild), values, *more
    return NotImplemented


def _reduce_memory(torch: Any, storage: Any) -> Any:
    memory = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
    if memory.nbytes < SMALL:
        return _copied, (memory.tobytes(),)
    return (_shared if _shares() else _copied), (pickle.PickleBuffer(memory),)


def _shares() -> bool:
    return os.environ.get(VARIABLE, "").lower() in ("1", "true")


def _typed(untyped: Any, dtype: Any) -> Any:
    torch = importlib.import_module("torch")
    return torch.storage.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


def _rebuild_v3(storage: Any, *values: Any) -> Any:
    torch = importlib.import_module("torch")
    return torch._utils._rebuild_tensor_v3(types.SimpleNamespace(_untyped_storage=storage), *values)


def _copied(buffer: Any) -> Any:
    """A storage with a copy of the buffer."""
    torch = importlib.import_module("torch")
    numpy = numpy_extra.need("a tensor of torch")
    made = torch.empty(memoryview(buffer).nbytes, dtype=torch.uint8)
    numpy.copyto(made.numpy(), numpy.frombuffer(buffer, numpy.uint8))
    return made.untyped_storage()


def _shared(buffer: Any) -> Any:
    """A storage whose memory is the buffer, which stays as long as a tensor looks at it."""
    torch = importlib.import_module("torch")
    numpy = numpy_extra.need("a tensor of torch")
    return torch.from_numpy(numpy.frombuffer(buffer, numpy.uint8)).untyped_storage()
