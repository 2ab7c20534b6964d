"""Names of Ray's Core, and of which kind each is under Ray.

    names.py                        says how each name resolves under the package ray of this interpreter
    names.py --record               writes names.json anew, under Ray itself (with dask)

`names.json` has the kind of each name: module, class, function (whatever can be called) or value. "outside" are the
names that libraries outside Ray use, private ones too, and "public" those of Ray's public modules. Names that Ray does
not have are left out when it is written; new ones of "public" are found.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any, TypeVar

FILE = Path(__file__).parent / "names.json"


#: Modules whose public names are the table's part "public".
MODULES = (
    *("ray", "ray.util", "ray.exceptions", "ray.actor", "ray.autoscaler.sdk", "ray.cluster_utils", "ray.experimental"),
    *("ray.job_config", "ray.remote_function", "ray.runtime_context", "ray.runtime_env", "ray.types"),
    *("ray.util.accelerators", "ray.util.actor_group", "ray.util.actor_pool", "ray.util.annotations"),
    *("ray.util.check_serialize", "ray.util.debug", "ray.util.helpers", "ray.util.iter", "ray.util.iter_metrics"),
    *("ray.util.multiprocessing", "ray.util.placement_group", "ray.util.queue", "ray.util.scheduling_strategies"),
    *("ray.util.serialization", "ray.util.state", "ray.util.timer"),
)
#: Names that need a package of others (dask). The error without it says so.
WITH_OTHERS = ("ray.util.dask",)
#: Libraries on top of Ray, and what only looks public.
LEFT_OUT = frozenset({"ray.data", "ray.workflow", "ray.widgets", "ray._config"})


def load() -> dict[str, dict[str, str]]:
    """Returns the kind of each name, by part of the table."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def public() -> set[str]:
    """Returns the names in MODULES of the ray that is installed."""
    found = set()
    for name in MODULES:
        module = importlib.import_module(name)
        own = [one for one, value in vars(module).items() if getattr(value, "__module__", None) == name]
        for one in getattr(module, "__all__", None) or own:
            if f"{name}.{one}" in LEFT_OUT:
                continue
            value = getattr(module, one, None)
            if not isinstance(value, TypeVar) and (not one.startswith("_") or one == "__version__"):
                found.add(f"{name}.{one}")
    return found


def resolve(name: str) -> Any:
    """Returns what a name stands for: the longest part of it that is a module is imported.

    Raises:
        ImportError, AttributeError: it stands for nothing.
    """
    parts = name.split(".")
    problem: ImportError | None = None
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError as error:
            problem = problem or error
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise problem or ImportError(name)


def kind(found: Any) -> str:
    """Returns what the table says of a value."""
    if inspect.ismodule(found):
        return "module"
    if inspect.isclass(found):
        return "class"
    return "function" if callable(found) else "value"


def kinds(names: list[str]) -> dict[str, str]:
    """Returns the kind of each name under this interpreter's ray, in a session; an error's text for what is missing."""
    import ray

    ray.init(num_cpus=1, log_to_driver=False)
    found = {}
    for name in names:
        try:
            found[name] = kind(resolve(name))
        except (ImportError, AttributeError) as error:
            found[name] = f"missing: {error}"
    ray.shutdown()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write names.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = load()
    if options.record:
        table["public"] = dict.fromkeys(sorted(public()), "")
    found = kinds([name for part in table.values() for name in part])
    if not options.record:
        json.dump(found, sys.stdout)
        return 0
    for part in table.values():
        for name in list(part):
            part[name] = found[name]
            if found[name].startswith("missing"):
                print(f"Ray does not have {name}", file=sys.stderr)
                del part[name]
    FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
