"""Picklers that refuse device arrays of other libraries, put references into a table and take out torch's memory.

numba, cupy and torch would pickle a pointer into this process's GPU memory, or a copy that nobody asked for.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

_MARK = "__cuda_array_interface__"
_NUMBA_MARK = "__cuda_ndarray__"  # also the class of the simulator's arrays
_DLPACK_MARK = "__dlpack_device__"
_TORCH = frozenset({"torch", "torch.storage"})  # the modules of torch's tensors and their memory
_HOST = (1, 3, 11)  # DLPack's kinds of memory that the host can read: its own memory, and memory that CUDA and ROCm pin
_COPIES = {
    "numba": "copy it with .copy_to_host()",
    "cupy": "copy it with .get()",
    "torch": "copy it with .cpu()",
    "jax": "copy it with numpy.asarray()",
}


class References:
    """The references inside one pickle, whose ids travel in a table in front of it: see ``pickling.dumps``."""

    #: ObjectRef, and its replacement in a pickle: a call that returns the next reference of the table. Set by
    #: refs.py, for as long as that is not loaded there are no references.
    kind: Any = None
    taken: Any = None

    def __init__(self, nested: list[Any]) -> None:
        self.found: list[Any] = []
        self.nested = nested

    def take(self, ref: Any) -> Any:
        """Adds a reference, and returns its replacement. Pickle calls this in the order in which it writes."""
        self.found.append(ref)
        self.nested.append(ref)
        return self.taken

    def clear(self) -> None:
        """Empties the table."""
        self.found.clear()
        self.nested.clear()


class Pickler(pickle.Pickler):
    """Plain pickle's pickler, with the check for device arrays."""

    references: References | None = None

    def reducer_override(self, obj: Any) -> Any:
        """Raises for a device array, replaces a reference, and leaves all other objects to pickle."""
        if type(obj) is References.kind and self.references is not None:
            return self.references.take(obj)
        if type(obj).__module__ in _TORCH and (found := _of_torch(obj)) is not NotImplemented:
            return found
        _look(obj)
        return NotImplemented


_by_value: Any = None


def by_value(cloudpickle: Any) -> Any:
    """cloudpickle's pickler, with the check for device arrays."""
    global _by_value
    if _by_value is None:

        class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
            references: References | None = None

            def reducer_override(self, obj: Any) -> Any:
                if type(obj) is References.kind and self.references is not None:
                    return self.references.take(obj)
                if type(obj).__module__ in _TORCH and (found := _of_torch(obj)) is not NotImplemented:
                    return found
                _look(obj)
                return super().reducer_override(obj)

        _by_value = ByValue
    return _by_value


def _of_torch(obj: Any) -> Any:
    from eagleray._private.values import torch_storage

    return torch_storage.reduce(obj)


def _look(obj: Any) -> None:
    kind = type(obj)
    # Of an object without a dictionary, a __getattr__ of the user's would be asked for one.
    if (
        hasattr(kind, _MARK)
        or hasattr(kind, _NUMBA_MARK)
        or (hasattr(kind, _DLPACK_MARK) and kind.__module__ != "numpy")
        or (kind.__dictoffset__ and _MARK in getattr(obj, "__dict__", ()))
    ):
        check(obj)


def dumps(
    pickler: Any,
    value: Any,
    buffer_callback: Callable[[pickle.PickleBuffer], Any] | None,
    references: References | None = None,
) -> bytes:
    """Pickles ``value`` by protocol 5. References go into ``references`` if that is given."""
    with io.BytesIO() as file:
        writer = pickler(file, 5, buffer_callback=buffer_callback)
        if references is not None:
            writer.references = references
        writer.dump(value)
        return file.getvalue()


def _exports_device(obj: Any) -> bool:
    """Reports whether DLPack places the object on a device."""
    try:
        return int(getattr(obj, _DLPACK_MARK)()[0]) not in _HOST
    except Exception:  # the object has no device or cannot tell it: pickle decides
        return False


def check(obj: Any) -> None:
    """Raises if the object is memory of a device.

    Raises:
        DeviceArrayError: it is, and is no array of eagleray.kernels, which pickles its own arrays.
    """
    kind = type(obj)
    module = str(getattr(kind, "__module__", "")).partition(".")[0]
    if isinstance(obj, type) or module == "eagleray" or getattr(obj, "is_cuda", None) is False:
        return
    if getattr(obj, _MARK, None) is None and not getattr(obj, _NUMBA_MARK, False) and not _exports_device(obj):
        return
    from eagleray.kernels.errors import DeviceArrayError

    copies = _COPIES.get(module, "copy it to the host")
    raise DeviceArrayError(
        f"a device array ({kind.__module__}.{kind.__qualname__}) cannot be put, passed or returned: its memory belongs "
        f"to this process. Either {copies}, or pass eagleray.kernels.asarray(it), which travels by one explicit copy"
    )
