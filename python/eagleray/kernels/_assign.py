"""Writing a number or an array into a part of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eagleray.kernels import _make, _ops, _views
from eagleray.kernels.errors import DTypeError

if TYPE_CHECKING:
    from eagleray.kernels._array import Array


def assign(target: Array, value: Any) -> None:
    """Writes a number or an array into a part."""
    if isinstance(value, (int, float)):
        value = _make.full((), value, target.dtype, target.device)
    else:
        value = _make.asarray(value)
        if value.dtype != target.dtype:
            raise DTypeError(
                f"{value.dtype} does not go into {target.dtype}: cast it with .astype({str(target.dtype)!r})"
            )
    value = value.to(target.device)
    _ops.copy(value if value.shape == target.shape else _views.broadcast_to(value, target.shape), out=target)
