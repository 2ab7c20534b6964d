"""How arrays travel through ``put``, ``get``, arguments and results.

- In the process that made it, the receiver gets the same memory, read-only, for as long as the sender's array lives.
- Otherwise the elements travel once. Elements on the host travel as they lie in memory, in a buffer that the receiver
  reads in place. Elements on a device are copied once through the host. A pointer never travels.
- What an actor or the driver sends from a CUDA device is also shared: a receiver on the same node that sees the same
  device maps the sender's memory (CUDA IPC) and leaves the staged copy alone. The memory is kept with an object of the
  sender's, which the pickle refers to, so that the ownership protocol tells when the last receiver is done. A task's
  worker ends and gives its device back, which it could not while others map its memory: its results are only staged.
"""

from __future__ import annotations

import itertools
import os
import pickle
import weakref
from typing import TYPE_CHECKING, Any

from eagleray._private.context import here
from eagleray._private.state import WORKER, process
from eagleray.kernels import _copies, _devices, _native, _views
from eagleray.kernels.dtypes import ALL
from eagleray.kernels.errors import ClosedError, DeviceError, KernelError

if TYPE_CHECKING:
    from eagleray.kernels._memory import Memory

_U8 = 7
_serials = itertools.count()
#: What this process has sent and still has.
_sent: weakref.WeakValueDictionary[tuple[int, bytes, int], Memory] = weakref.WeakValueDictionary()
_process = (0, b"")


def _here() -> tuple[int, bytes]:
    """This process, told apart from all others; a fork is another one."""
    global _process
    if _process[0] != os.getpid():
        _process = (os.getpid(), os.urandom(12))
    return _process


def reduce(array: Memory, protocol: int) -> Any:
    """What ``Array`` pickles as.

    Raises:
        ClosedError: the array was freed.
    """
    if array.closed:
        raise ClosedError("the array was freed: it cannot be passed on")
    name = (*_here(), next(_serials))
    _sent[name] = array
    order = [axis for _, axis in sorted((-abs(step), axis) for axis, step in enumerate(array.strides))]
    staged = _copies.to_device(array, _devices.CPU)
    memory = _views.transpose(staged, order) if array.ndim else staged
    if not _views.contiguous(memory):
        memory = _copies.copy(memory)
    raw = _views.view(memory, 0, (memory.nbytes,), (1,), readonly=True, dtype=_U8)
    carried: Any = pickle.PickleBuffer(raw) if protocol >= 5 else bytes(memoryview(raw))
    return rebuild, (name, array.dtype.number, array.shape, order, array._cuda, carried, _share(array))


#: What receivers need to map the memory: what keeps it, handle, size, offset, strides, and the sender's node.
_Shared = tuple[Any, bytes, int, int, tuple[int, ...], bytes]


def _share(array: Memory) -> _Shared | None:
    """What receivers on the same device need to map the memory; None where it is only staged."""
    from eagleray._private.values import pickling
    from eagleray._private.values.formats import NONE_RESULT

    session = process.session
    if array._cuda < 0 or array.size == 0 or session is None or not pickling.collecting():
        return None
    if session.role == WORKER and here.actor is None:
        return None
    kern = _native.load()
    try:
        handle, size, offset = kern.export(array)
    except KernelError:  # no IPC here, or memory that is mapped itself
        return None
    ref = session.hot.put(*NONE_RESULT)
    kern.keep(array, ref.binary())
    return ref, handle, size, offset, array.strides, session.node_id


def rebuild(
    name: tuple[int, bytes, int],
    dtype: int,
    shape: tuple[int, ...],
    order: list[int],
    device: int,
    carried: Any,
    shared: _Shared | None,
) -> Memory:
    """The array in the receiving process: on the host if it was there, else on the receiver's own device.

    The device is the sender's number where this process has it, else the default device, which is the host in a
    worker that was given no GPU.
    """
    if name[:2] == _here():
        original = _sent.get(name)
        if original is not None and not original.closed:
            return _views.view(original, 0, original.shape, original.strides, readonly=True)
    session = process.session
    # A handle of another node may fit a device here by chance, so the node decides.
    if shared is not None and session is not None and shared[5] == session.node_id and _devices.cuda_count():
        ref, handle, size, offset, steps, _ = shared
        try:
            mapped: Memory = _native.load().import_(handle, size, offset, dtype, shape, steps, ref)
            return mapped
        except DeviceError:  # another device, or no IPC here
            pass
    raw: Memory = _native.load().host(carried)
    laid = [shape[axis] for axis in order]
    strides = [0] * len(shape)
    for axis, step in zip(order, _views.c_strides(laid, ALL[dtype].itemsize), strict=True):
        strides[axis] = step
    array = _views.view(raw, 0, shape, strides, readonly=True, dtype=dtype)
    if device < 0:
        return array
    count = _devices.cuda_count()
    if not count:
        return array
    moved = _copies.to_device(array, device if device < count else 0)
    return _views.view(moved, 0, moved.shape, moved.strides, readonly=True)
