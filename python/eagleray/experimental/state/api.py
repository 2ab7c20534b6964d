"""The old name of ``eagleray.util.state``."""

from eagleray.util.state import *  # noqa: F403
from eagleray.util.state import __all__ as __all__
