"""Key-value pairs of the cluster, as libraries of Ray's use them. They live as long as the cluster does.

Programs and jobs of one cluster share the pairs. A namespace keeps the keys of a library apart from those of others.
"""

from __future__ import annotations

from typing import Any

from eagleray._private.calls.control import rpc
from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process
from eagleray.exceptions import RaySystemError

#: All namespaces of this module begin so: those of the runtime itself are out of reach.
_OURS = "user:"


def _internal_kv_initialized() -> bool:
    """Returns whether this process has a session."""
    return process.session is not None


def _internal_kv_put(
    key: str | bytes, value: str | bytes, overwrite: bool = True, *, namespace: str | bytes | None = None
) -> bool:
    """Stores a value.

    Args:
        key: The key.
        value: The value; a text is stored as its bytes in UTF-8.
        overwrite: Whether a value that is there is replaced.
        namespace: The namespace of the key.

    Returns:
        Whether the key had a value before.

    Raises:
        RaySystemError: there is no session.
        TypeError: key or value is neither a text nor bytes.
    """
    body = {"ns": _space(namespace), "key": _bytes("key", key), "value": _bytes("value", value), "overwrite": overwrite}
    return not _ask("kv_put", body)


def _internal_kv_get(key: str | bytes, *, namespace: str | bytes | None = None) -> bytes | None:
    """Returns the value of a key; None if it has none."""
    found: bytes | None = _ask("kv_get", {"ns": _space(namespace), "key": _bytes("key", key)})
    return found


def _internal_kv_exists(key: str | bytes, *, namespace: str | bytes | None = None) -> bool:
    """Returns whether a key has a value."""
    return _internal_kv_get(key, namespace=namespace) is not None


def _internal_kv_del(key: str | bytes, *, del_by_prefix: bool = False, namespace: str | bytes | None = None) -> int:
    """Deletes a key, or all keys that begin so, and returns how many there were."""
    body = {"ns": _space(namespace), "key": _bytes("key", key), "prefix": del_by_prefix}
    gone: int = _ask("kv_del", body)
    return gone


def _internal_kv_list(prefix: str | bytes, *, namespace: str | bytes | None = None) -> list[bytes]:
    """Returns the keys that begin so."""
    found: list[bytes] | None = _ask("kv_keys", {"ns": _space(namespace), "key": _bytes("prefix", prefix)})
    return found or []


def _initialize_internal_kv(gcs_client: Any) -> None:
    """Does nothing: what this module needs is there when the program has a session."""


def _internal_kv_reset() -> None:
    """Does nothing: this module keeps nothing of a session that has ended."""


def internal_kv_get_gcs_client() -> Any:
    """Returns what stands for the cluster's state in this process."""
    from eagleray._private.outside.worker import global_worker

    return global_worker.gcs_client


def _space(namespace: str | bytes | None) -> str:
    if namespace is None:
        return _OURS
    return _OURS + _bytes("namespace", namespace).decode()


def _bytes(name: str, value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise TypeError(f"{name} must be a text or bytes, got {type(value).__name__}: {value!r}")
    return value


def _ask(method: str, body: dict[str, Any]) -> Any:
    session = process.session
    if session is None:
        raise RaySystemError("the key-value pairs are those of a cluster: call init() first")
    try:
        return rpc(session, method, body)
    except HotError as error:
        raise explain(error) from None
