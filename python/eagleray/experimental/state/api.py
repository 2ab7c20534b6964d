"""The old name of ``eagleray.util.state``."""

import warnings

from eagleray.util.state import *  # noqa: F403
from eagleray.util.state import __all__ as __all__

warnings.warn("ray.experimental.state.api is deprecated: use ray.util.state", DeprecationWarning, stacklevel=2)
