"""The old name of ``eagleray.util.state.common``."""

import warnings

from eagleray.util.state.common import *  # noqa: F403

warnings.warn(
    "ray.experimental.state.common is deprecated: use ray.util.state.common", DeprecationWarning, stacklevel=2
)
