"""What Ray lists and Eagle Ray does not record."""

from __future__ import annotations

from typing import Any, NoReturn

from eagleray.util.state.exception import RayStateApiException

_WHY = {
    "runtime_envs": (
        "runtime environments are not recorded, so they cannot be listed: get_runtime_context().runtime_env is that of "
        "a task"
    ),
}


def refuse(what: str) -> NoReturn:
    """Raises for what is not recorded.

    Raises:
        RayStateApiException: always.
    """
    raise RayStateApiException(_WHY[what])


def list_runtime_envs(
    address: str | None = None,
    filters: list[tuple[str, str, Any]] | None = None,
    limit: int = 100,
    timeout: float = 30,
    detail: bool = False,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> list[Any]:
    """Always raises: runtime environments are made by the processes that fork workers, and are not recorded.

    Raises:
        RayStateApiException: always.
    """
    refuse("runtime_envs")
