"""The client of Ray's GCS as the libraries use it: keys and values, and tables of nodes."""

from __future__ import annotations

from typing import Any

from eagleray import nodes
from eagleray._private.outside.worker import global_worker
from eagleray.experimental import internal_kv


class GcsClientOptions:
    """Where the GCS is. There is none, so this holds an address only."""

    def __init__(self, address: str = "") -> None:
        self.address = address

    @classmethod
    def create(cls, address: str, *args: Any, **kwargs: Any) -> GcsClientOptions:
        """Returns the options for an address."""
        return cls(address)


class GcsClient:
    """Reads and writes the cluster's keys and values.

    Args:
        address: Ignored: it is the cluster that this process is in.
        cluster_id: Ignored, for the same reason.
    """

    def __init__(self, address: str | None = None, cluster_id: Any = None, **kwargs: Any) -> None:
        del address, cluster_id, kwargs

    @property
    def address(self) -> str:
        """The address of the cluster."""
        return global_worker.gcs_client.address

    def internal_kv_get(self, key: bytes, namespace: bytes | None = None, timeout: float | None = None) -> bytes | None:
        """Returns the value of a key; None if there is none."""
        return internal_kv._internal_kv_get(key, namespace=namespace)

    def internal_kv_multi_get(
        self, keys: list[bytes], namespace: bytes | None = None, timeout: float | None = None
    ) -> dict[bytes, bytes]:
        """Returns the values of those keys that have one."""
        found = {key: self.internal_kv_get(key, namespace) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def internal_kv_put(
        self,
        key: bytes,
        value: bytes,
        overwrite: bool = False,
        namespace: bytes | None = None,
        timeout: float | None = None,
    ) -> int:
        """Writes a value. Returns how many keys were added."""
        return int(not internal_kv._internal_kv_put(key, value, overwrite, namespace=namespace))

    def internal_kv_del(
        self, key: bytes, del_by_prefix: bool, namespace: bytes | None = None, timeout: float | None = None
    ) -> int:
        """Removes a key, or all that begin with it. Returns how many."""
        return internal_kv._internal_kv_del(key, del_by_prefix=del_by_prefix, namespace=namespace)

    def internal_kv_exists(self, key: bytes, namespace: bytes | None = None, timeout: float | None = None) -> bool:
        """Whether a key has a value."""
        return internal_kv._internal_kv_exists(key, namespace=namespace)

    def internal_kv_keys(
        self, prefix: bytes, namespace: bytes | None = None, timeout: float | None = None
    ) -> list[bytes]:
        """Returns the keys that begin with a prefix."""
        return internal_kv._internal_kv_list(prefix, namespace=namespace)

    def check_alive(self, node_ids: list[Any], timeout: float | None = None) -> list[bool]:
        """Whether each of these nodes lives."""
        alive = {row["NodeID"] for row in nodes() if row["Alive"]}
        return [(node if isinstance(node, str) else node.hex()) in alive for node in node_ids]
