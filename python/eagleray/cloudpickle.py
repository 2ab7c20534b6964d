"""The package cloudpickle itself: ``import eagleray.cloudpickle`` gives that package."""

import sys

import cloudpickle
import cloudpickle.cloudpickle

_OWN = __name__
for _name in ("cloudpickle", "cloudpickle_fast"):
    # Else the import system would load a second copy under this name.
    sys.modules[f"{_OWN}.{_name}"] = cloudpickle.cloudpickle
sys.modules[_OWN] = cloudpickle
