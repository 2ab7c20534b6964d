"""The signatures of Ray's Core: parameters, their kinds and their defaults.

    signatures.py            prints the signatures under the package ray of this interpreter
    signatures.py --record   writes signatures.json anew, under Ray itself (with dask)

The functions, classes and methods are those of the public modules in names.json.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import names

FILE = Path(__file__).parent / "signatures.json"
#: A parameter: its name, its kind, and its default as text, or None.
Parameter = tuple[str, str, str | None]
PLAIN = (type(None), bool, int, float, str, tuple, list, dict)


def default(value: Any) -> str | None:
    """A default as text that is the same in both systems."""
    if value is inspect.Parameter.empty:
        return None
    if isinstance(value, PLAIN):
        return repr(value)
    return f"<{type(value).__name__}>" if not isinstance(value, type) else f"<class {value.__name__}>"


def signature(value: Any) -> list[Parameter] | None:
    """The parameters of a function or class, without those that only the language gives; None where it tells none."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(one.name, one.kind.name, default(one.default)) for one in found if one.name not in ("self", "cls")]


def methods(kind: type) -> list[str]:
    """The public methods that a class, or one of its bases that is no builtin, defines."""
    found = {
        name
        for base in kind.__mro__
        if base.__module__ != "builtins"
        for name in vars(base)
        if not name.startswith("_")
    }
    return sorted(name for name in found if callable(getattr(kind, name, None)))


def collect(chosen: list[str]) -> dict[str, list[Parameter]]:
    """The signatures of names, and of the methods of those that are classes."""
    found = {}
    for name in chosen:
        try:
            value = names.resolve(name)
        except (ImportError, AttributeError):
            continue
        if not callable(value):
            continue
        parts = {name: value}
        if isinstance(value, type):
            parts |= {f"{name}.{method}": getattr(value, method) for method in methods(value)}
        found |= {part: own for part, one in parts.items() if (own := signature(one)) is not None}
    return found


def load() -> dict[str, list[Parameter]]:
    """The recorded signatures of Ray."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: [(one, kind, value) for one, kind, value in parameters] for name, parameters in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    table = names.load()
    found = collect(sorted({*table["public"], *table["outside"]}))
    if chosen.record:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
        FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        print(f"{len(found)} signatures")
    else:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
