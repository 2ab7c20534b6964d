"""What type checkers know of eagleray.kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from eagleray import kernels
from typing_extensions import assert_type

host: np.ndarray[Any, Any] = np.zeros(3, "f4")
array = kernels.asarray(host)
assert_type(array, kernels.Array)
assert_type(kernels.mul_two(array), kernels.Array)
assert_type(kernels.mul_two(host), np.ndarray[Any, Any])
assert_type(kernels.add(array, 2), kernels.Array)
assert_type(kernels.sub(2.5, array), kernels.Array)
assert_type(kernels.sum(array, 0), kernels.Array)
assert_type(array + 1, kernels.Array)
assert_type(2 / array, kernels.Array)
assert_type(array @ array.T, kernels.Array)
assert_type(array[1:, None].shape, tuple[int, ...])
assert_type(array.numpy(), np.ndarray[Any, Any])
assert_type(kernels.zeros((2, 3), kernels.float16, "cuda").dtype, kernels.DType)
assert_type(kernels.fuse().scale(2).add().clip(0, None), kernels.Chain)
assert_type(kernels.compile("", "f"), kernels.Kernel)
assert_type(kernels.default_device(), str)
with kernels.Stream() as stream:
    assert_type(stream.record(), kernels.Event)
array *= 2
assert_type(array, kernels.Array)
