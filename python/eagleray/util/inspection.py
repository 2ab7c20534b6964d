"""Functions that inspect values and names, and that register how a class is pickled."""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from eagleray._private.state import process
from eagleray._private.values import pickling
from eagleray._private.values.inspection import failure, find_culprit


class FailureTuple(NamedTuple):
    """A part that cannot be pickled: itself, the way to it, the whole that it is in."""

    obj: Any
    path: tuple[str, ...]
    parent: Any

    @property
    def name(self) -> str:
        """The way as a text."""
        return " → ".join(self.path)


def inspect_serializability(
    base_obj: Any, name: str | None = None, depth: int = 3, print_file: Any = None
) -> tuple[bool, set[FailureTuple]]:
    """Finds out whether a value can be sent to a task, and which part of it cannot.

    Args:
        base_obj: The value, or a function.
        name: The name of the value in the output.
        depth: Accepted and ignored: the search goes as deep as it must.
        print_file: Where to print; standard output when None.

    Returns:
        Whether the value can be pickled, and the parts that cannot.
    """
    out = print_file or sys.stdout
    shown = name or getattr(base_obj, "__qualname__", None) or repr(base_obj)
    problem = _code_failure(base_obj) if callable(base_obj) else failure(base_obj)
    if problem is None:
        print(f"{shown} can be serialized", file=out)
        return True, set()
    part, path, reason = find_culprit(base_obj, problem)
    steps = tuple(path) or (shown,)
    way = " → ".join(steps)
    print(f"{shown} cannot be serialized: {reason}. The part to blame: {way}, {part!r}", file=out)
    try:
        found = {FailureTuple(part, steps, base_obj)}
    except TypeError:  # not hashable
        found = {FailureTuple(repr(part), steps, repr(base_obj))}
    return False, found


def _code_failure(value: Any) -> BaseException | None:
    try:
        pickling.dumps_code(value)  # what it captured is let go of
        return None
    except Exception as problem:
        return problem


class _Restore:
    """Calls a user's deserializer; picklable whatever the deserializer is, cloudpickle sees to that."""

    def __init__(self, deserializer: Callable[[Any], Any]) -> None:
        self.deserializer = deserializer

    def __call__(self, data: Any) -> Any:
        return self.deserializer(data)


def register_serializer(cls: type, *, serializer: Callable[[Any], Any], deserializer: Callable[[Any], Any]) -> None:
    """Makes this process pickle instances of a class as ``serializer(instance)``, rebuilt by ``deserializer``."""
    restore = _Restore(deserializer)
    copyreg.pickle(cls, lambda instance: (restore, (serializer(instance),)))


def deregister_serializer(cls: type) -> None:
    """Undoes ``register_serializer``."""
    copyreg.dispatch_table.pop(cls, None)


def list_named_actors(all_namespaces: bool = False) -> list[Any]:
    """The names of living actors of this namespace, or dictionaries with name and namespace of all."""
    from eagleray._private.calls.control import rpc

    rows = rpc(process.require(), "actor_names", {"all": all_namespaces})
    if not all_namespaces:
        return [row["name"] for row in rows]
    return [{"name": row["name"], "namespace": row["namespace"]} for row in rows]


def get_node_instance_id() -> str:
    """The id that a cloud has given to this node's machine, as whoever starts the node says it in a variable.

    Returns:
        The value of ``RAY_CLOUD_INSTANCE_ID``, empty when it is not set.
    """
    import os

    return os.environ.get("RAY_CLOUD_INSTANCE_ID", "")


def get_node_ip_address(address: str | None = None) -> str:
    """The address of this machine that others would use: in a session the one that ``nodes()`` says.

    Args:
        address: Another machine, with or without ``:port``: then it is the address that this machine uses to reach it.
    """
    import socket

    if address is None and process.session is not None and process.session.node_addr:
        return process.session.node_addr

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            host, _, port = (address or "192.0.2.1").partition(":")
            probe.connect((host, int(port or 9)))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
