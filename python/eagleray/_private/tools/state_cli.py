"""The commands that show the cluster's state: ``eagleray memory``, ``list``, ``get`` and ``summary``."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from eagleray._private.session import census
from eagleray._private.tools import memory_table
from eagleray._private.tools.terminal import Parser, positive
from eagleray.util import state
from eagleray.util.state.api import SOURCES, query
from eagleray.util.state.common import DEFAULT_LIMIT, DEFAULT_RPC_TIMEOUT, Filter, StateSchema
from eagleray.util.state.exception import RayStateApiException

_SCHEMAS: dict[str, type[StateSchema]] = {what: schema for schema, (what, _) in SOURCES.items()}
_SUMMARIES = {"actors": state.summarize_actors, "objects": state.summarize_objects, "tasks": state.summarize_tasks}


def main(args: Sequence[str]) -> int:
    """Runs one command and returns its exit status."""
    given = parser().parse_args(args)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            out = given.run(given)
        for warning in said:
            print(f"eagleray: {warning.message}", file=sys.stderr)
        print(out.rstrip("\n"))
        return 0
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except ValueError as problem:
        print(f"eagleray {given.command}: {problem}", file=sys.stderr)
        return 2
    except RayStateApiException as problem:
        print(f"eagleray {given.command}: {problem}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """Returns the parser of these commands."""
    made = Parser(prog="eagleray")
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)

    memory = commands.add_parser("memory", help="show who holds objects, and from which line")
    memory.add_argument("--group-by", type=str.upper, choices=["NODE_ADDRESS", "STACK_TRACE"], default="NODE_ADDRESS")
    memory.add_argument(
        "--sort-by", type=str.upper, choices=["PID", "OBJECT_SIZE", "REFERENCE_TYPE"], default="OBJECT_SIZE"
    )
    memory.add_argument("--units", type=str.upper, choices=list(memory_table.UNITS), default="B")
    memory.add_argument("--no-format", action="store_true", help="do not align the columns")
    memory.add_argument("--stats-only", action="store_true", help="only what the object store counts")
    memory.add_argument("--num-entries", "--n", type=positive, metavar="N", help="rows of each group")
    memory.set_defaults(run=_memory)

    lists = commands.add_parser(
        "list",
        help="list actors, events of the cluster, jobs, nodes, objects, placement groups, runtime environments, "
        "tasks or workers",
    )
    lists.add_argument("resource", choices=sorted(_SCHEMAS))
    lists.add_argument("--format", choices=["default", "table", "json", "yaml"], default="default")
    lists.add_argument(
        "-f", "--filter", action="append", default=[], metavar="KEY=VALUE", help="or KEY!=VALUE; all hold"
    )
    lists.add_argument("--limit", type=positive, default=DEFAULT_LIMIT)
    lists.add_argument("--detail", action="store_true")
    lists.set_defaults(run=_list)

    get = commands.add_parser("get", help="show one of them")
    get.add_argument("resource", choices=sorted(name for name, schema in _SCHEMAS.items() if schema.key))
    get.add_argument("id")
    get.set_defaults(run=_get)

    summary = commands.add_parser("summary", help="count actors, objects or tasks")
    summary.add_argument("resource", choices=sorted(_SUMMARIES))
    summary.set_defaults(run=_summary)

    for command in (memory, lists, get, summary):
        command.add_argument("--address", help="the session; the one that runs on this machine if not given")
        command.add_argument("--timeout", type=float, default=DEFAULT_RPC_TIMEOUT, help="seconds")
    return made


def _memory(given: argparse.Namespace) -> str:
    found = census.take(given.address, given.timeout, objects=not given.stats_only)
    return memory_table.text(
        found,
        group_by=given.group_by,
        sort_by=given.sort_by,
        units=given.units,
        formatted=not given.no_format and memory_table.is_wide(),
        stats_only=given.stats_only,
        num_entries=given.num_entries,
    )


def _list(given: argparse.Namespace) -> str:
    schema = _SCHEMAS[given.resource]
    filters = [_filter(text) for text in given.filter]
    rows = [
        row.asdict()
        for row in query(
            schema, given.address, filters, given.limit, given.timeout, given.detail, raise_on_missing_output=False
        )
    ]
    names = schema.list_columns(detail=given.detail)
    rows = [{name: row[name] for name in names} for row in rows]
    how = given.format
    if how == "default":
        how = "yaml" if given.detail else "table"
    if how == "json":
        return json.dumps(rows)
    if not rows:
        return "No resource in the cluster"
    return _yaml(rows) if how == "yaml" else _table(given.resource, rows)


def _filter(text: str) -> Filter:
    name, equals, value = text.partition("=")
    predicate = "="
    if name.endswith("!"):
        name, predicate = name[:-1], "!="
    if not (name and equals and value):
        raise ValueError(f"the filter {text!r} is not KEY=VALUE or KEY!=VALUE")
    return name, predicate, value


def _get(given: argparse.Namespace) -> str:
    schema = _SCHEMAS[given.resource]
    found = query(
        schema,
        given.address,
        [(schema.key, "=", given.id)],
        timeout=given.timeout,
        detail=True,
        raise_on_missing_output=False,
    )
    if not found:
        return f"Resource with id={given.id} not found in the cluster."
    return _yaml([row.asdict() for row in found])


def _summary(given: argparse.Namespace) -> str:
    found = _SUMMARIES[given.resource](given.address, given.timeout, raise_on_missing_output=False)["cluster"]
    groups, by = found.pop("summary"), found.pop("summary_by")
    name = given.resource.capitalize()
    lines = [f"======== {name} Summary: {datetime.datetime.now()} ========", "Stats:", "-" * 36]
    lines += [f"{key}: {_scalar(value)}" for key, value in sorted(found.items())]
    lines += ["", f"Table (group by {by}):", "-" * 36]
    rows = [
        {by.upper(): key, **{name: value for name, value in group.items() if value != key}}
        for key, group in groups.items()
    ]
    return "\n".join([*lines, *_columns(rows)])


def _table(what: str, rows: list[dict[str, Any]]) -> str:
    head = f"======== List: {datetime.datetime.now()} ========"
    lines = [head, "Stats:", "-" * 30, f"Total: {len(rows)}", "", "Table:", "-" * 30]
    return "\n".join([*lines, *_columns(rows)])


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    names = list(rows[0])
    table = [["", *(name.upper() for name in names)]]
    table += [[str(index), *(_plain(row[name]) for name in names)] for index, row in enumerate(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value)


def _scalar(value: Any) -> str:
    return json.dumps(value)


def _yaml(rows: list[dict[str, Any]]) -> str:
    """The rows as YAML, whose scalars, lists and maps may be written as in JSON."""
    lines = ["---"]
    for row in rows:
        for index, (name, value) in enumerate(row.items()):
            lines.append(f"{'-   ' if index == 0 else '    '}{name}: {_scalar(value)}")
    return "\n".join([*lines, "..."])
