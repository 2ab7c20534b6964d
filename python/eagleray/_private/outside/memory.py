"""The table of ``eagleray memory`` as a text."""

from __future__ import annotations

from eagleray._private.session import census
from eagleray._private.tools import memory_table

_TIMEOUT = 60.0


def memory_summary(
    address: str | None = None,
    group_by: str = "NODE_ADDRESS",
    sort_by: str = "OBJECT_SIZE",
    units: str = "B",
    line_wrap: bool = True,
    stats_only: bool = False,
    num_entries: int | None = None,
) -> str:
    """Returns which process holds which object, and from which line of the program.

    Args:
        address: The session; None: the one that this process is in.
        group_by: "NODE_ADDRESS" or "STACK_TRACE".
        sort_by: "PID", "OBJECT_SIZE" or "REFERENCE_TYPE".
        units: "B", "KB", "MB" or "GB".
        line_wrap: Whether the columns are aligned.
        stats_only: Whether to return only what the object store counts.
        num_entries: Rows of each group; None: all.

    Raises:
        ValueError: an argument is none of these.
        RayStateApiException: there is no such session, or no answer.
    """
    for name, value, known in (
        ("group_by", group_by, ("NODE_ADDRESS", "STACK_TRACE")),
        ("sort_by", sort_by, ("PID", "OBJECT_SIZE", "REFERENCE_TYPE")),
        ("units", units, tuple(memory_table.UNITS)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    found = census.take(address, _TIMEOUT, objects=not stats_only)
    return memory_table.text(
        found,
        group_by=group_by,
        sort_by=sort_by,
        units=units,
        formatted=line_wrap,
        stats_only=stats_only,
        num_entries=num_entries,
    )
