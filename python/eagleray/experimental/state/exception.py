"""The old name of ``eagleray.util.state.exception``."""

import warnings

from eagleray.util.state.exception import *  # noqa: F403

warnings.warn(
    "ray.experimental.state.exception is deprecated: use ray.util.state.exception", DeprecationWarning, stacklevel=2
)
