"""Checks of the fields of a runtime environment, and the form that ``RuntimeEnv`` keeps them in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlparse

from eagleray.runtime_env.config import RuntimeEnvConfig

#: What the name of a package must end with, by field.
ARCHIVES: Mapping[str, tuple[str, ...]] = {
    "working_dir": (".zip", ".tar.gz", ".tgz", ".tar.xz"),
    "py_modules": (".zip", ".whl", ".tar.gz", ".tgz", ".tar.xz"),
}
#: Schemes of places that packages are fetched from.
REMOTE = ("http", "https", "s3", "gs", "azure", "abfss", "file")
#: Further schemes, of packages and environments that the cluster keeps itself, and of folders that every node has.
OWN = ("gcs", "conda", "pip", "uv", "local")


def is_path(text: str) -> bool:
    """Whether a text is the path of a file or folder, and not a URI."""
    return not urlparse(text).scheme


def working_dir(value: Any) -> str:
    """Checks a path or URI of a folder or archive."""
    return _package("working_dir", value)


def py_modules(value: Any) -> list[str]:
    """Checks a list of paths and URIs."""
    if not isinstance(value, list):
        raise TypeError(f"`py_modules` must be a list of strings, got {type(value)}.")
    for one in value:
        _package("py_modules", one, "an item of py_modules")
    return value


def _package(field: str, value: Any, what: str = "") -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what or f'`{field}`'} must be a string, got {type(value)}.")
    if is_path(value):
        if not os.path.exists(value):
            raise ValueError(f"{value} is not a valid path: runtime_env[{field!r}] names a file or folder that exists")
        return value
    uri = urlparse(value)
    if uri.scheme not in REMOTE + OWN:
        raise ValueError(
            f"{value} is not a valid URI for runtime_env[{field!r}]: {uri.scheme!r} is none of "
            f"{', '.join(REMOTE + OWN)}"
        )
    if uri.scheme == "local" and not (value.startswith("local:///") and not value.endswith(ARCHIVES["py_modules"])):
        raise ValueError(f"{value} is not a valid URI: after local:// comes the absolute path of a folder, no archive")
    name = uri.netloc + uri.path
    if uri.scheme in (*REMOTE, "gcs") and not name.endswith(ARCHIVES[field]):
        raise ValueError(
            f"Only {', '.join(ARCHIVES[field])} files are supported for {field} URIs; got {value.split('?', 1)[0]}."
        )
    return value


def excludes(value: Any) -> list[str] | None:
    """Checks a list of patterns."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError(f"runtime_env['excludes'] must be of type List[str], got {type(value)}")
    return value or None


def env_vars(value: Any) -> dict[str, str] | None:
    """Checks names and values of variables."""
    if not isinstance(value, dict):
        if value == [] or value == ():
            return None
        raise TypeError(f"runtime_env['env_vars'] must be of type Dict[str, str], got {type(value)}")
    for name, text in value.items():
        for what, one in (("key", name), ("value", text)):
            if not isinstance(one, str):
                raise TypeError(
                    f"runtime_env['env_vars'] must be of type Dict[str, str], but the {what} {one} is of type "
                    f"{type(one)}"
                )
    return value or None


def conda(value: Any) -> str | dict[str, Any]:
    """Checks the name of an environment, the path of a file or folder, or the content of such a file."""
    if not isinstance(value, (str, dict)):
        raise TypeError(f"runtime_env['conda'] must be of type str or dict, got {type(value)}")
    if isinstance(value, str):
        if value.endswith((".yaml", ".yml")):
            if not os.path.isfile(value):
                raise ValueError(f"Can't find conda YAML file {value}.")
        elif os.path.isabs(value) and not os.path.isdir(value):
            raise ValueError(f"Can't find conda env directory {value}.")
    return value


def pip(value: Any) -> dict[str, Any] | None:
    """Checks requirements for pip."""
    optional = {"pip_check": bool, "pip_version": str, "pip_install_options": list}
    return _requirements("pip", value, optional, {"pip_check": False}, {"pip_check": False}, files=True)


def uv(value: Any) -> dict[str, Any] | None:
    """Checks requirements for uv."""
    optional = {"uv_check": bool, "uv_version": str, "uv_pip_install_options": list}
    defaults = {"uv_check": False, "uv_pip_install_options": ["--no-cache"]}
    return _requirements("uv", value, optional, defaults, {"uv_check": False}, files=False)


def _requirements(
    field: str,
    value: Any,
    optional: Mapping[str, type],
    defaults: Mapping[str, Any],
    short: Mapping[str, Any],
    *,
    files: bool,
) -> dict[str, Any] | None:
    """Returns requirements as a dictionary, None if there are none.

    Args:
        field: "pip" or "uv".
        value: The name of a file, a list, or a dictionary.
        optional: Further fields of the dictionary, and their types.
        defaults: What a dictionary has that does not state it.
        short: What is added to a list.
        files: Whether ``packages`` in a dictionary may name a file.
    """
    where = f"runtime_env[{field!r}]"
    if isinstance(value, str):
        made = {"packages": _lines_of(value), **short}
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        made = {"packages": value, **short}
    elif isinstance(value, dict):
        if set(value) - {"packages", *optional}:
            *most, last = ("packages", *optional)
            raise ValueError(
                f"{where} can only have these fields: {', '.join(most)} and {last}, but got: {list(value)}"
            )
        for name, kind in optional.items():
            _check_type(f"{where}[{name!r}]", value.get(name, kind()), kind)
        if "packages" not in value:
            raise ValueError(f"{where} must include field 'packages', but got {value}")
        packages = value["packages"]
        if files and isinstance(packages, str):
            packages = _lines_of(packages)
        if not isinstance(packages, list):
            raise ValueError(f"{where}['packages'] must be of type list, got: {type(packages)}")
        _check_type(f"{where}['packages']", packages, list)
        made = {**value, "packages": packages}
        made.update({name: default for name, default in defaults.items() if name not in value})
    else:
        raise TypeError(f"{where} must be of type str, List[str] or dict, got {type(value)}")
    made["packages"] = _without_repeats(made["packages"])
    return made if made["packages"] else None


def _check_type(where: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        wanted = "list[str]" if kind is list else kind.__name__
        raise TypeError(f"{where} must be of type {wanted}, got {type(value)}")
    if isinstance(value, list):
        for place, one in enumerate(value):
            if not isinstance(one, str):
                raise TypeError(f"{where} must be of type list[str], got {type(one)} for item {place}")


def _lines_of(name: str) -> list[str]:
    if not os.path.isfile(name):
        raise ValueError(f"{name} is not a valid file: a text names a file of requirements, a list has requirements")
    with open(name, encoding="utf-8") as file:
        return file.read().strip().split("\n")


def _without_repeats(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


#: Field → its check, which returns the form that is kept; None if the field says nothing.
CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "py_modules": py_modules,
    "working_dir": working_dir,
    "excludes": excludes,
    "conda": conda,
    "pip": pip,
    "uv": uv,
    "env_vars": env_vars,
    "config": RuntimeEnvConfig.parse_and_validate_runtime_env_config,
}
