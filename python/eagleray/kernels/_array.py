"""``Array``. Importing this module loads the Go core: the class extends one of the C extension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eagleray._private import hooks, native, numpy_extra
from eagleray.kernels import _copies, _devices, _native, _streams, _views
from eagleray.kernels.dtypes import DType, parse
from eagleray.kernels.errors import ClosedError, DTypeError, ShapeError

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

    from eagleray.kernels._memory import Memory
else:
    Memory = native.kern().Array

_SHOWN = 1000


class Array(Memory):
    """Elements of one data type on one device; made by ``array``, ``asarray``, ``empty``, ``zeros`` and ``full``.

    It stays on its device until it is copied by name (``to``, ``numpy``). Slicing, ``reshape``, ``T`` and
    ``broadcast_to`` give views of the same memory, which goes with the last of them, or with ``free``.
    ``+ - * / @`` and their in-place forms follow numpy, but data types are not mixed: cast one with ``astype``.
    ``==`` compares identity.

    Attributes:
        shape: Length of each axis, in elements.
        strides: Step along each axis, in bytes; may be 0 or negative.
        ndim, size: Number of axes and of elements.
        itemsize, nbytes: Bytes of one element and of all.
        dtype: Type of the elements, as ``kernels.float32``.
        device: ``"cpu"`` or ``"cuda:N"``.
        readonly: Whether writing raises ``ReadOnlyError``.
        closed: Whether it was freed.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # the C extension's class has the operators

        def __add__(self, other: Any) -> Array: ...
        def __radd__(self, other: Any) -> Array: ...
        def __iadd__(self, other: Any) -> Self: ...
        def __sub__(self, other: Any) -> Array: ...
        def __rsub__(self, other: Any) -> Array: ...
        def __isub__(self, other: Any) -> Self: ...
        def __mul__(self, other: Any) -> Array: ...
        def __rmul__(self, other: Any) -> Array: ...
        def __imul__(self, other: Any) -> Self: ...
        def __truediv__(self, other: Any) -> Array: ...
        def __rtruediv__(self, other: Any) -> Array: ...
        def __itruediv__(self, other: Any) -> Self: ...
        def __matmul__(self, other: Any) -> Array: ...
        def __rmatmul__(self, other: Any) -> Array: ...
        def __neg__(self) -> Array: ...

    # ---- views -------------------------------------------------------------

    def __getitem__(self, index: Any) -> Array:
        """A view: integers, slices, ``...`` and None, as numpy's basic indexing.

        Raises:
            IndexError: an index is out of bounds, or there are more than axes.
        """
        return _views.index(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes into a part: a number, or an array of the same data type that broadcasts to it."""
        assign = hooks.call(hooks.ASSIGN_TO_ARRAY)  # which makes arrays, so it stands above this module
        assign(self if index is ... else _views.index(self, index), value)

    def __iter__(self) -> Iterator[Array]:
        return (self[index] for index in range(len(self)))

    def reshape(self, *shape: int | tuple[int, ...]) -> Array:
        """The elements in C order under another shape; one length may be -1. A view where strides allow, else a copy.

        Raises:
            ShapeError: the number of elements differs.
        """
        return _views.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def transpose(self, *axes: int | tuple[int, ...]) -> Array:
        """A view with the axes in another order, reversed by default."""
        order: Any = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _views.transpose(self, order)

    @property
    def T(self) -> Array:
        """A view with the axes reversed."""
        return _views.transpose(self, ())

    def broadcast_to(self, shape: int | tuple[int, ...]) -> Array:
        """A read-only view of that shape, which repeats axes of length 1.

        Raises:
            ShapeError: this shape does not broadcast to the other.
        """
        return _views.broadcast_to(self, shape)

    # ---- copies ------------------------------------------------------------

    def copy(self) -> Array:
        """A copy on the same device, in C order."""
        return _copies.copy(self)

    def astype(self, dtype: Any) -> Array:
        """A copy with another data type; floating point to integers truncates, as numpy's."""
        return _copies.cast(self, dtype)

    def to(self, device: Any) -> Array:
        """The array itself if it is on that device, else a copy there.

        Args:
            device: ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.

        Raises:
            DeviceError: there is no such device.
            OutOfMemoryError: it has no room.
        """
        return _copies.to_device(self, _devices.index_of(device))

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy as numpy's array, on the host.

        Raises:
            DTypeError: bfloat16, which numpy does not have.
        """
        numpy = numpy_extra.need("Array.numpy()")
        self._need_numpy()
        made: np.ndarray[Any, Any] = numpy.empty(self.shape, self.dtype.name)
        _native.load().copy_into(self, made)
        return made

    def item(self) -> int | float:
        """The only element, as a number of Python's.

        Raises:
            ShapeError: there is not exactly one.
        """
        if self.closed:
            raise ClosedError("the array was freed: nothing can be done with it")
        if self.size != 1:
            raise ShapeError(f"only an array with one element is a number; this one has shape {self.shape}")
        found: int | float = (self.astype("float32") if self.dtype == "bfloat16" else self).numpy().item()
        return found

    def tolist(self) -> Any:
        """The elements in nested lists."""
        return (self.astype("float32") if self.dtype == "bfloat16" else self).numpy().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    # ---- reductions --------------------------------------------------------

    def sum(self, axis: int | None = None) -> Array:
        """``kernels.sum`` of this."""
        return self._reduce(_native.SUM, axis)

    def min(self, axis: int | None = None) -> Array:
        """``kernels.min`` of this."""
        return self._reduce(_native.MIN, axis)

    def max(self, axis: int | None = None) -> Array:
        """``kernels.max`` of this."""
        return self._reduce(_native.MAX, axis)

    def mean(self, axis: int | None = None) -> Array:
        """``kernels.mean`` of this."""
        return self._reduce(_native.MEAN, axis)

    def _reduce(self, operation: int, axis: int | None) -> Array:
        made: Array = _native.load().operate(operation, self, None, _native.ALL_AXES if axis is None else axis, None)
        return made

    # ---- protocols ---------------------------------------------------------

    __array_ufunc__: None = None  # numpy leaves mixed expressions to us
    __array_priority__: float = 1000.0

    def _need_numpy(self) -> None:
        if self.closed:
            raise ClosedError("the array was freed: nothing can be done with it")
        if self.dtype == "bfloat16":
            raise DTypeError("numpy has no bfloat16: call .astype('float32') first")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """numpy's array: a view on the host's memory unless a copy is asked for or another data type.

        Raises:
            TypeError: the array is on a CUDA device; ``.numpy()`` copies.
            ValueError: ``copy=False`` and another data type.
        """
        if self._cuda >= 0:
            raise TypeError(f"the array is on {self.device}: numpy would copy it unasked. Call .numpy() for a copy")
        self._need_numpy()
        numpy = numpy_extra.need("Array.__array__")
        view: np.ndarray[Any, Any] = numpy.asarray(memoryview(self))
        if dtype is not None and view.dtype != numpy.dtype(dtype):
            if copy is False:
                raise ValueError(f"{self.dtype} cannot become {numpy.dtype(dtype)} without a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._cuda >= 0 or self.dtype == "bfloat16":
            raise AttributeError(
                f"an array of {self.dtype} on {self.device} has no __array_interface__: "
                + ("call .numpy() for a copy" if self._cuda >= 0 else "call .astype('float32') first")
            )
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._cuda < 0:
            raise AttributeError(
                "the array is on the host: it has no __cuda_array_interface__; copy it with .to('cuda')"
            )
        if self.dtype == "bfloat16":
            raise AttributeError("bfloat16 has no __cuda_array_interface__: use DLPack, or .astype('float32')")
        return {**self._interface(), "stream": _streams.native_of_current()}

    def _interface(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": ("|" if self.itemsize == 1 else "<") + self.dtype.kind + str(self.itemsize),
            "data": (self._pointer(), self.readonly),
            "strides": None if _views.contiguous(self) else self.strides,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_native.DLPACK_CPU, 0) if self._cuda < 0 else (_native.DLPACK_CUDA, self._cuda)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of this memory, or of a copy.

        Raises:
            BufferError: it cannot be had without a copy, or, read-only, without a versioned capsule.
        """
        if self._cuda < 0 and stream is not None:
            raise BufferError(f"the array is on the host: stream must be None, got {stream!r}")
        array, here = self, self.__dlpack_device__()
        copied = False
        if dl_device is not None and tuple(map(int, dl_device)) != here:
            wanted = (int(dl_device[0]), int(dl_device[1]))
            if copy is False or wanted[0] not in (_native.DLPACK_CPU, _native.DLPACK_CUDA):
                raise BufferError(f"the array is on DLPack device {here}: it cannot be exported to {wanted}")
            array = self.to("cpu" if wanted[0] == _native.DLPACK_CPU else f"cuda:{wanted[1]}")
            copied = True
        elif copy:
            array = self.copy()
            copied = True
        versioned = max_version is not None and max_version[0] >= 1
        if array.readonly and not versioned:
            raise BufferError("the array is read-only, which a capsule before DLPack 1.0 cannot say: copy it first")
        if array._cuda >= 0 and stream != -1:
            _streams.before_export(array._cuda)
        return _native.load().dlpack(array, versioned, copied)

    # ---- Python ------------------------------------------------------------

    def __repr__(self) -> str:
        about = f"shape={self.shape}, dtype={self.dtype.name}, device={self.device!r}"
        if self.closed:
            return f"Array({about}, freed)"
        if self._cuda >= 0 or self.size > _SHOWN:
            return f"Array({about})"
        return f"Array({self.tolist()}, {about})"

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return self.copy()

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *exc: object) -> None:
        self.free()

    def __reduce_ex__(self, protocol: Any) -> Any:
        from eagleray.kernels import _transfer

        return _transfer.reduce(self, int(protocol))


__all__ = ["Array", "DType", "parse"]
