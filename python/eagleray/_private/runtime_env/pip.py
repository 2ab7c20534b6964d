"""The part of ``ray._private.runtime_env.pip`` that programs use: whether this is a virtual environment."""

from __future__ import annotations

from eagleray._private.runtime_env.virtualenv_utils import is_in_virtualenv


class PipProcessor:
    """What makes virtual environments under Ray. Here the node's daemon does, and a program cannot make one."""

    def __init__(self) -> None:
        raise NotImplementedError('virtual environments are made by the daemon: use runtime_env={"pip": [...]}')

    @staticmethod
    def _is_in_virtualenv() -> bool:
        return is_in_virtualenv()
