"""What users ask for in ``runtime_env``, checked and in one form."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from eagleray._private import suggestions

#: Endings of the files that are unpacked.
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar.xz", ".tar")
WHEEL = ".whl"
#: Schemes that nodes download from, and the packages that this takes.
SCHEMES: dict[str, tuple[str, ...]] = {
    "http": (),
    "https": (),
    "file": (),
    "s3": ("smart_open", "boto3"),
    "gs": ("smart_open", "google.cloud.storage"),
}
#: The scheme of a folder that every node has.
LOCAL = "local://"
DEFAULT_TIMEOUT_S = 600

_REFUSED = {
    "conda": (
        "Eagle Ray makes no conda environments. Use pip or uv; or make the environment on every node and give "
        "runtime_env={'py_executable': '/path/of/the/environment/bin/python'}"
    ),
    "container": "Eagle Ray starts no containers. Run `eagleray start` in a container of that image on the nodes",
    "image_uri": "Eagle Ray starts no containers. Run `eagleray start` in a container of that image on the nodes",
    "nsight": (
        "workers are forked from a process that has started already, and a profiler of NVIDIA's has to start its "
        "program. Give runtime_env={'py_executable': 'nsys profile ... python'}: the profile is then that of all "
        "workers of this environment"
    ),
    "rocprof_sys": (
        "workers are forked from a process that has started already, and a profiler of AMD's has to start its program. "
        "Give runtime_env={'py_executable': 'rocprof-sys-python ...'}: the profile is then that of all workers of this "
        "environment"
    ),
    "java_jars": "Eagle Ray has no workers in Java",
}
_REFUSED["_nsight"] = _REFUSED["nsight"]
_REFUSED["_rocprof_sys"] = _REFUSED["rocprof_sys"]


class Hook(NamedTuple):
    """What a worker calls before it takes work."""

    name: str
    pickled: bytes  # empty: ``name`` is a path as "package.module.function"


def uri_scheme(text: str) -> str:
    """Returns the scheme of a URI, empty for a path."""
    head, found, _ = text.partition("://")
    return head if found and head.replace("+", "").replace("-", "").isalnum() else ""


def normalised(runtime_env: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a ``runtime_env`` in which each field has one form. Fields that ask for nothing are left out.

    ``pip`` and ``uv`` become dictionaries, ``config`` has its defaults, ``py_modules`` are texts, and the setup hook is
    a ``Hook``.

    Raises:
        TypeError: a value has the wrong type.
        ValueError: a field is not known or not supported, or a value means nothing.
    """
    if not isinstance(runtime_env, Mapping):
        raise TypeError(f"runtime_env must be a dictionary or a RuntimeEnv, got {runtime_env!r:.200}")
    found = {}
    for name, value in runtime_env.items():
        if name in _REFUSED and value is not None:
            raise ValueError(f"runtime_env field {name!r} is not supported: {_REFUSED[name]}")
        check = _CHECKS.get(name)
        if check is None and name not in _REFUSED:
            raise ValueError(
                f"runtime_env field {name!r} is not known{suggestions.suggestion(name, tuple(_CHECKS))}; "
                f"the fields are {', '.join(_CHECKS)}"
            )
        checked = None if value is None or check is None else check(value)
        if checked is not None:
            found[name] = checked
    if "pip" in found and "uv" in found:
        raise ValueError(
            "runtime_env has both 'pip' and 'uv', and only one program can install into an environment: list all "
            "packages under one of them"
        )
    return found


def _env_vars(value: Any) -> dict[str, str] | None:
    if not isinstance(value, Mapping):
        raise TypeError(f"runtime_env['env_vars'] must map strings to strings, got {value!r:.200}")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(
                f"runtime_env['env_vars'] must map strings to strings, got {name!r:.100}: {text!r:.100} in it"
            )
    return dict(value) or None


def _excludes(value: Any) -> list[str] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"runtime_env['excludes'] must be a list of patterns as in .gitignore, got {value!r:.300}")
    return list(value) or None


def _working_dir(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"runtime_env['working_dir'] must be a path or a URI, got {value!r:.200}")
    text = os.fspath(value)
    if not isinstance(text, str):
        raise TypeError(f"runtime_env['working_dir'] must be a path or a URI, got {value!r:.200}")
    if uri_scheme(text):
        return _uri("working_dir", text, ARCHIVES)
    if not os.path.isdir(text) and not (os.path.isfile(text) and text.endswith(ARCHIVES)):
        raise ValueError(
            f"runtime_env['working_dir'] must be a folder of this machine, an archive of one ({', '.join(ARCHIVES)}) "
            f"or a URI, got {value!r:.300}"
        )
    return os.path.abspath(text)


def _py_modules(value: Any) -> list[str] | None:
    if not isinstance(value, list):
        raise TypeError(f"runtime_env['py_modules'] must be a list of paths, modules and URIs, got {value!r:.200}")
    found = []
    for item in value:
        where = getattr(item, "__path__", None)
        text = next(iter(where)) if where else getattr(item, "__file__", None) or item
        if not isinstance(text, (str, os.PathLike)):
            raise TypeError(f"runtime_env['py_modules'] has {item!r:.200} in it, which is no path, module or URI")
        text = str(os.fspath(text))
        if uri_scheme(text):
            found.append(_uri("py_modules", text, (*ARCHIVES, WHEEL)))
        elif os.path.exists(text):
            found.append(os.path.abspath(text))
        else:
            raise ValueError(
                f"runtime_env['py_modules'] must list folders or files of this machine, modules or URIs, and "
                f"{text!r:.300} is none of them"
            )
    return found or None


def check_uri(field: str, uri: str) -> str:
    """Returns a URI of ``working_dir`` or ``py_modules``.

    Raises:
        ValueError: nodes do not download from there, or no package has such a name.
    """
    return _uri(field, uri, (*ARCHIVES, WHEEL) if field == "py_modules" else ARCHIVES)


def _uri(field: str, uri: str, endings: tuple[str, ...]) -> str:
    scheme = uri_scheme(uri)
    path = uri.partition("://")[2].split("?")[0].split("#")[0]
    if scheme == "local":
        if not os.path.isabs(path):
            raise ValueError(f"runtime_env[{field!r}]: {uri!r:.300} must have an absolute path, as local:///data/code")
        return uri
    if scheme not in SCHEMES:
        raise ValueError(
            f"runtime_env[{field!r}]: nodes do not download from {uri!r:.300}. They know {', '.join(SCHEMES)}, "
            "and local for a folder that every node has"
        )
    if not path.endswith(endings):
        raise ValueError(f"runtime_env[{field!r}]: {uri!r:.300} must end with one of {', '.join(endings)}")
    return uri


def _requirements(field: str, path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip().split("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise ValueError(f"runtime_env[{field!r}]: the requirements file {path!r} cannot be read: {problem}") from None


def _installer(field: str, version: str, check: str, options: str) -> Callable[[Any], dict[str, Any] | None]:
    """Returns the check of ``pip`` or ``uv``, which differ in the names of their keys."""

    def checked(value: Any) -> dict[str, Any] | None:
        if isinstance(value, (str, os.PathLike)):
            value = {"packages": _requirements(field, os.fspath(value))}
        elif isinstance(value, list):
            value = {"packages": value}
        if not isinstance(value, Mapping):
            raise TypeError(
                f"runtime_env[{field!r}] must be a list of requirements, the path of a requirements file or a "
                f"dictionary, got {value!r:.200}"
            )
        known = ("packages", version, check, options)
        for name in value:
            if name not in known:
                raise ValueError(f"runtime_env[{field!r}] has the key {name!r:.100}; the keys are {', '.join(known)}")
        if "packages" not in value:
            raise ValueError(f"runtime_env[{field!r}] must have the key 'packages', a list of requirements")
        packages = value["packages"]
        if isinstance(packages, str) and field == "pip":
            packages = _requirements(field, packages)
        if not isinstance(packages, list):
            raise ValueError(f"runtime_env[{field!r}]['packages'] must be a list of strings, got {packages!r:.200}")
        _texts(f"runtime_env[{field!r}]['packages']", packages)
        made: dict[str, Any] = {"packages": list(dict.fromkeys(packages)), check: value.get(check, False)}
        if not isinstance(made[check], bool):
            raise TypeError(f"runtime_env[{field!r}][{check!r}] must be True or False, got {made[check]!r:.100}")
        if version in value:
            made[version] = value[version]
            if not isinstance(made[version], str):
                raise TypeError(f"runtime_env[{field!r}][{version!r}] must be a string, got {made[version]!r:.100}")
        if options in value:
            if not isinstance(value[options], list):
                raise TypeError(f"runtime_env[{field!r}][{options!r}] must be a list, got {value[options]!r:.100}")
            _texts(f"runtime_env[{field!r}][{options!r}]", value[options])
            made[options] = list(value[options])
        return made if any(line.strip() for line in made["packages"]) else None

    return checked


def _texts(what: str, items: Iterable[Any]) -> None:
    for item in items:
        if not isinstance(item, str):
            raise TypeError(f"{what} must be a list of strings, and {item!r:.100} in it is none")
        if "\n" in item or "\0" in item:
            raise ValueError(f"{what} has {item!r:.100} in it, and a line break in it would be a second entry")


def _py_executable(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"runtime_env['py_executable'] must be a string, got {value!r:.100}")
    split_command(value)
    return value


def split_command(text: str) -> list[str]:
    """Returns the words of a ``py_executable``, as a shell would split them."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise ValueError(f"runtime_env['py_executable'] {text!r:.200} is no command: {problem}") from None
    if not words or not words[0]:
        raise ValueError("runtime_env['py_executable'] is empty: it must name the interpreter of the workers")
    return words


def _setup_hook(value: Any) -> Hook:
    if isinstance(value, Hook):
        return value
    if isinstance(value, str):
        if not all(part.isidentifier() for part in value.split(".")) or "." not in value:
            raise ValueError(
                f"runtime_env['worker_process_setup_hook'] {value!r:.200} must be a function or a path of one, as "
                "'package.module.function'"
            )
        return Hook(value, b"")
    if not callable(value):
        raise TypeError(f"runtime_env['worker_process_setup_hook'] must be a function or a string, got {value!r:.100}")
    from eagleray._private import functions

    _, pickled, captured = functions.export(value, "the setup hook of a runtime_env")
    if captured:
        raise ValueError(
            "runtime_env['worker_process_setup_hook'] has references or actor handles inside, and workers would need "
            "them for as long as the environment is there: pass what they refer to"
        )
    return Hook(getattr(value, "__qualname__", None) or type(value).__qualname__, pickled)


def _config(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"runtime_env['config'] must be a dictionary or a RuntimeEnvConfig, got {value!r:.200}")
    known = ("setup_timeout_seconds", "eager_install", "log_files")
    for name in value:
        if name not in known:
            raise ValueError(f"runtime_env['config'] has the key {name!r:.100}; the keys are {', '.join(known)}")
    seconds = value.get("setup_timeout_seconds", DEFAULT_TIMEOUT_S)
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        raise TypeError(f"runtime_env['config']['setup_timeout_seconds'] must be an integer, got {seconds!r:.100}")
    if seconds <= 0 and seconds != -1:
        raise ValueError(
            f"runtime_env['config']['setup_timeout_seconds'] must be more than 0, or -1 for no limit, got {seconds}"
        )
    eager = value.get("eager_install", True)
    if not isinstance(eager, bool):
        raise TypeError(f"runtime_env['config']['eager_install'] must be True or False, got {eager!r:.100}")
    if value.get("log_files"):
        raise ValueError(
            "runtime_env['config']['log_files'] is not supported: Eagle Ray has no dashboard that shows these files"
        )
    return {"setup_timeout_seconds": seconds, "eager_install": eager}


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "env_vars": _env_vars,
    "working_dir": _working_dir,
    "py_modules": _py_modules,
    "excludes": _excludes,
    "pip": _installer("pip", "pip_version", "pip_check", "pip_install_options"),
    "uv": _installer("uv", "uv_version", "uv_check", "uv_pip_install_options"),
    "py_executable": _py_executable,
    "worker_process_setup_hook": _setup_hook,
    "config": _config,
}
