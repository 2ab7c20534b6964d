"""The text of ``eagleray memory``: the holders of objects, group by group, and then the totals of the store."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

from eagleray._private.session.census import Census

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_GROUPS = {"NODE_ADDRESS": "ip", "STACK_TRACE": "call_site"}
_SORTS = {"PID": "pid", "OBJECT_SIZE": "object_size", "REFERENCE_TYPE": "reference_type"}
#: Below this width of the terminal columns are only separated, not aligned.
_WIDE = 137
_MIB = 1024**2
_COLUMNS = (
    *("IP Address", "PID", "Type", "Call Site", "Status", "Attempt", "Size", "Reference Type", "Place"),
    *("Borrowed By", "Object Ref"),
)
_COUNTED = {
    "LOCAL_REFERENCE": "Local References",
    "PINNED_IN_MEMORY": "Pinned",
    "USED_BY_PENDING_TASK": "Used by task",
    "CAPTURED_IN_OBJECT": "Captured in Objects",
    "ACTOR_HANDLE": "Actor Handles",
    "BORROWED": "Borrowed",
}


def text(
    found: Census,
    *,
    group_by: str = "NODE_ADDRESS",
    sort_by: str = "OBJECT_SIZE",
    units: str = "B",
    formatted: bool = True,
    stats_only: bool = False,
    num_entries: int | None = None,
) -> str:
    """The whole table."""
    if stats_only:
        return "\n".join(_store(found)) + "\n"
    rows = sorted(found.objects(), key=lambda row: (row[_SORTS[sort_by]], row["object_id"]))
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(str(row[_GROUPS[group_by]]), []).append(row)
    name, order = group_by.lower().replace("_", " "), sort_by.lower().replace("_", " ")
    shown = "all" if num_entries is None else num_entries
    lines = [f"Grouped by {name}, sorted by {order}, {shown} entries of each group", ""]
    for key, group in groups.items():
        lines += ["", f"--- {name} {key}: totals ---", *_summary(group, units)]
        lines += ["", f"--- {name} {key}: references ---"]
        table = [_COLUMNS, *(_cells(row, units) for row in group[:num_entries])]
        lines += _aligned(table) if formatted else (" | ".join(cells) for cells in table)
        if num_entries is not None and len(group) > num_entries:
            lines.append(f"... and {len(group) - num_entries} more")
    if not groups:
        lines += ["", "No process holds a reference."]
    lines += ["", *_store(found)]
    missing = found.objects_total() - len(rows)
    if missing > 0:
        lines.append(f"{missing} references are not listed: each process tells its largest ones only.")
    lines += found.silent
    return "\n".join(lines) + "\n"


def is_wide() -> bool:
    """Whether the terminal has room for aligned columns."""
    return shutil.get_terminal_size((80, 20)).columns > _WIDE


def _summary(rows: list[dict[str, Any]], units: str) -> list[str]:
    cells = [_amount(sum(max(row["object_size"], 0) for row in rows), units)]
    for kind in _COUNTED:
        same = [row for row in rows if row["reference_type"] == kind]
        cells.append(f"{len(same)}, ({_amount(sum(max(row['object_size'], 0) for row in same), units)})")
    return list(_aligned([("Mem Used by Objects", *_COUNTED.values()), tuple(cells)]))


def _cells(row: dict[str, Any], units: str) -> tuple[str, ...]:
    size = _amount(row["object_size"], units) if row["object_size"] >= 0 else "?"
    return (
        row["ip"],
        str(row["pid"]),
        row["type"].capitalize(),
        row["call_site"],
        "-" if row["task_status"] == "NIL" else row["task_status"],
        str(row["attempt_number"]),
        size,
        row["reference_type"],
        row["place"],
        ",".join(map(str, row["borrowers"])) or "-",
        row["object_id"],
    )


def _aligned(table: Iterable[tuple[str, ...]]) -> Iterable[str]:
    rows = list(table)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _amount(size: int, units: str) -> str:
    return f"{size / UNITS[units]} {units}"


def _store(found: Census) -> list[str]:
    stores = [part["Store"] for part in found.parts]
    store = {name: sum(one[name] for one in stores) for name in ("Capacity", "Used", "Objects", "Pinned", "Peak")}
    more: dict[str, int] = {}
    for one in stores:
        for name, amount in (one["More"] or {}).items():
            more[name] = more.get(name, 0) + amount
    full = 100 * store["Used"] / store["Capacity"] if store["Capacity"] else 0.0
    lines = [
        "--- object store ---" if len(stores) == 1 else f"--- object stores of {len(stores)} nodes ---",
        f"{store['Used'] // _MIB} of {store['Capacity'] // _MIB} MiB used ({full:.2f} %) "
        f"by {store['Objects']} objects, {store['Pinned']} of them looked at; "
        f"at most {store['Peak'] // _MIB} MiB were used",
    ]
    if more.get("file_bytes"):
        lines.append(f"{more['file_bytes'] // _MIB} MiB of files stand for memory.")
    for what, key, way in (("Spilled", "spill", "written"), ("Restored", "restore", "read")):
        size, number = more.get(f"{key}_bytes", 0), more.get(f"{key}_objects", 0)
        if number:
            speed = size / _MIB / (max(more.get(f"{key}_ms", 0), 1) / 1000)
            lines.append(f"{what} {size // _MIB} MiB, {number} objects, {speed:.0f} MiB/s {way}")
    if more.get("spilled_objects"):
        lines.append(f"On disk now: {more['spilled_bytes'] // _MIB} MiB, {more['spilled_objects']} objects")
    if more.get("waiting"):
        lines.append(f"{more['waiting']} objects wait for room.")
    return lines
