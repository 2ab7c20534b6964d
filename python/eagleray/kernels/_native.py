"""The C extension behind the public names, loaded when it is first used.

Numbers here are those of pybind/kern/kern.h and of the Go package kernels/backend.
"""

from __future__ import annotations

import sys
from typing import Any

from eagleray._private import hooks, native

SCALE, ADD_SCALAR, ADD, SUB, RSUB, MUL, DIV, AXPY, CLIP, EXP, RELU = range(1, 12)
SUM, MIN, MAX, MEAN, DOT, MATMUL, SOFTMAX, CAST, TO = range(1, 10)
ALL_AXES = 1 << 30
STREAM_NEW, STREAM_SYNC, STREAM_CLOSE, STREAM_NATIVE, STREAM_WAIT = range(1, 6)
EVENT_RECORD, EVENT_SYNC, EVENT_DONE, EVENT_SINCE, EVENT_CLOSE, DEVICE_SYNC, KERNEL_CLOSE = range(6, 13)
#: DLPack's numbers of kinds of devices.
DLPACK_CPU, DLPACK_CUDA, DLPACK_CUDA_MANAGED = 1, 2, 13

_kern: Any = None


def load() -> Any:
    """``eagleray._kern``, which knows ``Array`` and the errors from now on."""
    global _kern
    if _kern is None:
        module = native.kern()
        module.configure(*hooks.call(hooks.KERNELS))
        for folder in sys.path:
            if folder.endswith("-packages"):  # where pip puts NVIDIA's libraries
                module.search(folder)
        _kern = module
    return _kern


def numpy_if_loaded() -> Any:
    """numpy, or None while nobody has imported it: then no object is one of its."""
    module = sys.modules.get("numpy")
    return module if module is not None and hasattr(module, "generic") else None
