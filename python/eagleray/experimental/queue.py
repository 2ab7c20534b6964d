"""The old place of ``eagleray.util.queue``."""

import warnings

from eagleray.util.queue import Empty as Empty
from eagleray.util.queue import Full as Full
from eagleray.util.queue import Queue as Queue

warnings.warn(
    "eagleray.experimental.queue is the old place of eagleray.util.queue: import that instead",
    DeprecationWarning,
    stacklevel=2,
)
