"""What an environment needs on each node, from the fields of a ``runtime_env`` that was checked.

A need is Go's ``wire.Need``: a field, JSON that says what is needed, and the package that it is made of. The folders of
needs are made on the nodes. Until then a marker stands for each in the paths of the environment (``arrangement``).
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from eagleray._private.environments import arrangement, checks
from eagleray._private.libraries import cache

_MODULES = "py_modules"
_FOLDER = "working_dir"
#: The order in which nodes meet needs: tools that install may use the working directory.
_ORDER = (_FOLDER, _MODULES, "py_executable", "pip", "uv", "worker_process_setup_hook", "config")
#: The beginnings of variables that change what pip and uv install.
_OF_TOOLS = ("PIP_", "UV_")


class Parts(NamedTuple):
    """The parts of an environment that fields other than ``env_vars`` change."""

    cwd: str
    ahead: list[str]  # what comes in front of ``path``
    path: list[str]
    packages: list[dict[str, Any]]
    needs: list[dict[str, Any]]


class _Builder:
    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.cwd: str = spec["cwd"]
        self.ahead: list[str] = []
        self.path: list[str] = list(spec["sys_path"])
        self.packages: list[dict[str, Any]] = list(spec.get("packages", ()))
        # With the package itself instead of its index, which changes.
        self.needs: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
            (need, self.packages[need["Package"] - 1] if need["Package"] else None) for need in spec.get("needs", ())
        ]

    def drop(self, fields: Collection[str]) -> None:
        """Removes what the environment had for fields that are replaced."""
        used = [package for _, package in self.needs if package is not None]
        gone = []
        for need, package in self.needs:
            if need["Field"] in fields:
                self._forget(arrangement.marker(need["Field"], need["What"]))
                gone.append(package)
        for package in self.packages:
            if any(package is one for one in used):
                continue  # a file that a need unpacks is in no path
            if os.path.basename(package["Path"]) == cache.INNER:
                continue  # Ray's libraries belong to no field
            if (_MODULES if package["Module"] else _FOLDER) in fields:
                self._forget(os.path.dirname(package["Path"]) if package["Module"] else package["Path"])
                gone.append(package)
        self.packages = [package for package in self.packages if not any(package is one for one in gone)]
        self.needs = [pair for pair in self.needs if pair[0]["Field"] not in fields]

    def _forget(self, entry: str) -> None:
        if entry in self.path:
            self.path.remove(entry)

    def need(self, field: str, what: Mapping[str, Any], package: dict[str, Any] | None = None) -> str:
        """Adds a need, and returns the marker of its folder."""
        text = json.dumps(what, sort_keys=True)
        self.needs.append(({"Field": field, "What": text, "Package": 0}, package))
        return arrangement.marker(field, text)

    def package(self, path: str, module: bool, excluded: tuple[list[str], bool]) -> dict[str, Any]:
        """Adds a folder or file that other nodes get a copy of."""
        made = {"Path": path, "Module": module, "Excludes": excluded[0], "NoGitignore": excluded[1]}
        made.update(Hash="", Node=0)
        self.packages.append(made)
        return made

    def place(self, field: str, item: str, excluded: tuple[list[str], bool]) -> str:
        """Adds what ``working_dir`` or an entry of ``py_modules`` names; returns its folder for ``sys.path``."""
        if checks.uri_scheme(item):
            return self.need(field, {"uri": item})
        if os.path.isfile(item) and item.endswith((*checks.ARCHIVES, checks.WHEEL)):
            info = os.stat(item)
            what = {"archive": os.path.basename(item), "bytes": info.st_size, "changed": info.st_mtime_ns}
            return self.need(field, what, self.package(item, True, excluded))
        self.package(item, field == _MODULES, excluded)
        return os.path.dirname(item) if field == _MODULES else item

    def parts(self) -> Parts:
        self.needs.sort(key=lambda pair: _ORDER.index(pair[0]["Field"]))
        needs = []
        for need, package in self.needs:
            number = next((i for i, one in enumerate(self.packages, 1) if one is package), 0)
            needs.append({**need, "Package": number})
        return Parts(self.cwd, self.ahead, self.path, self.packages, needs)


def change(
    spec: Mapping[str, Any],
    asked: Mapping[str, Any],
    excluded: tuple[list[str], bool],
    variables: Mapping[str, str],
    own_path: list[str],
    package: str,
) -> Parts:
    """Returns the parts of an environment that was changed.

    Args:
        spec: The environment before.
        asked: The fields to change, checked.
        excluded: Patterns of what is not copied, and whether ``.gitignore`` files are not looked at.
        variables: What tools see of the environment's variables.
        own_path: Folders of modules that belong to the program's interpreter.
        package: The folder that has Eagle Ray.
    """
    builder = _Builder(spec)
    fields = {name for name in asked if name in _ORDER}
    if fields & {"pip", "uv"}:
        fields |= {"pip", "uv"}
    builder.drop(fields)
    builder.ahead += [builder.place(_MODULES, item, excluded) for item in asked.get(_MODULES, ())]
    if _FOLDER in asked:
        builder.cwd = builder.place(_FOLDER, asked[_FOLDER], excluded)
        builder.ahead.append(builder.cwd)
    if "py_executable" in asked:
        command = checks.split_command(asked["py_executable"])
        builder.need("py_executable", {"command": command, "drop": own_path, "last": [package]})
    for field in ("pip", "uv"):
        if field in asked:
            what = dict(asked[field], variables={n: t for n, t in variables.items() if n.startswith(_OF_TOOLS)})
            folder = None
            if "RAY_RUNTIME_ENV_CREATE_WORKING_DIR" in "".join(what["packages"]):
                what["after"] = builder.cwd
                folder = next(
                    (one for one in builder.packages if not one["Module"] and one["Path"] == builder.cwd), None
                )
            builder.need(field, what, folder)
    if "worker_process_setup_hook" in asked:
        hook: checks.Hook = asked["worker_process_setup_hook"]
        pickled = base64.b64encode(hook.pickled).decode()
        builder.need("worker_process_setup_hook", {"name": hook.name, "pickled": pickled})
    _limit(builder, asked)
    return builder.parts()


def _limit(builder: _Builder, asked: Mapping[str, Any]) -> None:
    """Adds how long making may take, if there is something to make or the program has said it."""
    known = [need for need, _ in builder.needs if need["Field"] == "config"]
    if "config" not in asked and (known or not builder.needs):
        return
    config = asked.get("config") or {"setup_timeout_seconds": checks.DEFAULT_TIMEOUT_S, "eager_install": True}
    seconds = config["setup_timeout_seconds"]
    builder.need("config", {"seconds": max(seconds, 0), "lazy": not config["eager_install"]})
