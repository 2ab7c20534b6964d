"""What the object store and this process's table of references hold."""

from __future__ import annotations

import gc

import msgpack
from processes import until

#: Numbers in an array that is too large for a message.
BIG = 30_000


def stats() -> dict[str, int]:
    """``objects``, ``used`` and ``pinned`` of the node's store, ``owned`` and ``borrowed`` of this process."""
    from eagleray._private.state import process

    found: dict[str, int] = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))
    return found


def settles(seconds: float = 60, collect: bool = True, **wanted: int) -> None:
    """Waits until the numbers are these, with the help of the garbage collector if ``collect``.

    Raises:
        AssertionError: they are others for too long.
    """
    found: dict[str, int] = {}

    def reached() -> bool:
        nonlocal found
        if collect:
            gc.collect()
        found = stats()
        return all(found[name] == number for name, number in wanted.items())

    try:
        until(reached, seconds)
    except TimeoutError:
        raise AssertionError(f"expected {wanted}, found {found}") from None
