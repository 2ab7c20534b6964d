"""Control calls to the daemon."""

from __future__ import annotations

from typing import Any

from eagleray._private.hot_error import HotError, explain
from eagleray._private.messages import pack, unpack
from eagleray._private.state import Session

_TIMEOUT_MS = 30_000


def rpc(session: Session, method: str, body: Any = None, timeout_ms: int = -1) -> Any:
    """A control call to the daemon. A negative timeout is the usual one."""
    limit = _TIMEOUT_MS if timeout_ms < 0 else timeout_ms
    answer = session.hot.rpc(method, pack(body if body is not None else {}), limit)
    return unpack(answer) if answer else None


def fetch_cluster(session: Session, *, use: bool = False) -> dict[str, Any]:
    """Asks the head for the nodes and their resources.

    Args:
        session: This process's session.
        use: Whether to ask the other nodes what is in use there; otherwise ``available`` is what this node has free.
    """
    try:
        found: dict[str, Any] = rpc(session, "cluster_info", {"use": use})
        return found
    except HotError as error:
        raise explain(error) from None
