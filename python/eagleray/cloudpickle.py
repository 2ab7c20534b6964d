"""The package cloudpickle itself: ``import eagleray.cloudpickle`` gives that package."""

import pickle
import sys
from typing import Any

import cloudpickle
import cloudpickle.cloudpickle

_OWN = __name__
for _name in ("cloudpickle", "cloudpickle_fast"):
    # Else the import system would load a second copy under this name.
    sys.modules[f"{_OWN}.{_name}"] = cloudpickle.cloudpickle
sys.modules[_OWN] = cloudpickle


def _dumps_debug(obj: Any, *args: Any, **kwargs: Any) -> bytes:
    """Pickles a value. A value that cannot be pickled is an error that names what in it is the cause.

    Raises:
        TypeError: the value cannot be pickled.
    """
    from eagleray._private.values.inspection import describe_failure

    try:
        pickled: bytes = cloudpickle.dumps(obj, *args, **kwargs)
        return pickled
    except (TypeError, pickle.PicklingError) as problem:
        raise TypeError(describe_failure(obj, "the value", problem)) from problem


cloudpickle.__dict__["dumps_debug"] = _dumps_debug  # as in Ray's copy of the package
