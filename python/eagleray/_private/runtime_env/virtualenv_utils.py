"""``ray._private.runtime_env.virtualenv_utils``: whether this interpreter belongs to a virtual environment."""

from __future__ import annotations

import os
import sys


def is_in_virtualenv() -> bool:
    """Returns whether this interpreter belongs to a virtual environment."""
    return sys.prefix != sys.base_prefix


def get_virtualenv_path(target_dir: str) -> str:
    """Returns the folder of the virtual environment in a folder."""
    return os.path.join(target_dir, "virtualenv")


def get_virtualenv_python(target_dir: str) -> str:
    """Returns the interpreter of the virtual environment in a folder."""
    return os.path.join(get_virtualenv_path(target_dir), "bin", "python")
