"""The functions ``as_completed`` and ``map_unordered``, in the module where Ray has them."""

from eagleray.util.completion import as_completed as as_completed
from eagleray.util.completion import map_unordered as map_unordered

__all__ = ["as_completed", "map_unordered"]
