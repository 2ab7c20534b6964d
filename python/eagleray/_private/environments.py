"""Runtime environments: what the processes start with that run this program's tasks."""

from __future__ import annotations

import json
import os
import sys
from _blake2 import blake2b  # what hashlib gives, without loading OpenSSL
from collections.abc import Mapping
from typing import Any

from eagleray._private.messages import pack
from eagleray._private.state import EnvBase, Session

#: Variables that libraries read when they are imported: a zygote that has imported them already is no use then.
_READ_AT_IMPORT = (
    "NUMBA_",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "GOTO_",
    "BLIS_",
    "KMP_",
    "NUMEXPR_",
    "VECLIB_",
    "NPY_",
    "PYTHON",
)
#: Modules of third parties that a zygote imports ahead, when the driver has them.
_PRELOAD_ALWAYS = ("numpy",)
_PRELOAD_IF_IMPORTED = ("pandas", "numba", "numba.cuda")
_SUPPORTED = ("env_vars", "working_dir", "py_modules")
_RPC_TIMEOUT_MS = 30_000

#: Behind the name of a module that a zygote imports when it is idle.
WHEN_IDLE = "?"

#: What a worker finds in its environment about itself; taken out before user code runs.
KEY_VARIABLE = "EAGLERAY_ENV_KEY"
USER_VARIABLE = "EAGLERAY_RUNTIME_ENV"
PYTHONPATH_VARIABLE = "EAGLERAY_DRIVER_PYTHONPATH"


def driver_base(runtime_env: Mapping[str, Any] | None) -> EnvBase:
    """The environment of a driver's tasks: the driver's own interpreter, paths, folder and variables."""
    job_env = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not _in_site(package):
        # The zygote must find this package before it knows the driver's sys.path; it puts the variable right at once.
        job_env[PYTHONPATH_VARIABLE] = job_env.get("PYTHONPATH", "")
        job_env["PYTHONPATH"] = os.pathsep.join(filter(None, [package, job_env.get("PYTHONPATH")]))
    cwd = os.getcwd()
    spec = {
        "python": sys.executable or os.environ.get("EAGLERAY_PYTHON", "python3"),
        "sys_path": [os.fspath(path) or cwd for path in sys.path],
        "cwd": cwd,
        "env": {},
        "preload": _preload(),
        "bare": False,
        "job_env": job_env,
    }
    return _derive(EnvBase("", spec, {}), runtime_env or {})


def worker_base(setup: Mapping[str, Any], environ: Mapping[str, str]) -> EnvBase:
    """The environment that a worker runs in, which its own tasks inherit.

    Args:
        setup: What its zygote was told.
        environ: The zygote's variables.
    """
    variables = {name: text for name, text in setup["env"].items() if name not in (KEY_VARIABLE, USER_VARIABLE)}
    job_env = {name: text for name, text in environ.items() if name not in (KEY_VARIABLE, USER_VARIABLE)}
    spec = {
        "python": sys.executable,
        "sys_path": setup["sys_path"],
        "cwd": setup["cwd"],
        "env": variables,
        "preload": setup["preload"],
    }
    spec.update(bare=bool(setup["bare"]), job_env=job_env)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not _in_site(package):
        job_env[PYTHONPATH_VARIABLE] = job_env.get("PYTHONPATH", "")
        job_env["PYTHONPATH"] = os.pathsep.join(filter(None, [package, job_env.get("PYTHONPATH")]))
    return EnvBase(setup["env"].get(KEY_VARIABLE, ""), spec, json.loads(setup["env"].get(USER_VARIABLE) or "{}"))


def key_for(session: Session, runtime_env: Mapping[str, Any] | None) -> str:
    """The key of the environment for a task's or actor's ``runtime_env``, made known to the daemon."""
    base = session.env
    if not runtime_env:
        return base.key
    name = json.dumps(runtime_env, sort_keys=True, default=repr)
    known = session.envs.get(name)
    if known is not None:
        return known
    check_runtime_env(runtime_env)
    made = _derive(base, runtime_env)
    if made.key != base.key:
        session.hot.rpc("env_define", pack({**made.spec, "key": made.key}), _RPC_TIMEOUT_MS)
    session.envs[name] = made.key
    return made.key


def check_runtime_env(runtime_env: Mapping[str, Any] | None) -> None:
    """Raises for a ``runtime_env`` that cannot be made."""
    for name, value in (runtime_env or {}).items():
        if name == "config":
            continue
        if name not in _SUPPORTED:
            raise ValueError(
                f"runtime_env field {name!r} is not supported; {', '.join(_SUPPORTED)} are. "
                "Install what tasks need into the driver's interpreter: workers use it."
            )
        if name == "env_vars" and not (
            isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)
        ):
            raise TypeError(f"runtime_env['env_vars'] must map strings to strings, got {value!r}")
        if name == "working_dir" and not (isinstance(value, (str, os.PathLike)) and os.path.isdir(value)):
            raise ValueError(f"runtime_env['working_dir'] must be a folder of this machine, got {value!r}")
        if name == "py_modules" and not (
            isinstance(value, list) and all(os.path.exists(_module_path(item)) for item in value)
        ):
            raise ValueError(f"runtime_env['py_modules'] must list folders or files of this machine, got {value!r}")


def _derive(base: EnvBase, runtime_env: Mapping[str, Any]) -> EnvBase:
    """The environment that ``runtime_env`` makes of ``base``; variables add up, other fields replace."""
    spec = {**base.spec, "env": dict(base.spec["env"])}
    merged = {**base.runtime_env, **runtime_env}
    variables = {**base.runtime_env.get("env_vars", {}), **runtime_env.get("env_vars", {})}
    if variables:
        merged["env_vars"] = variables
    spec["env"].update(variables)
    changed = [
        name for name, value in runtime_env.get("env_vars", {}).items() if base.spec["job_env"].get(name) != value
    ]
    if any(name.startswith(_READ_AT_IMPORT) for name in changed):
        spec["bare"] = True
    ahead = [os.path.dirname(os.path.abspath(_module_path(item))) for item in runtime_env.get("py_modules", ())]
    if "working_dir" in runtime_env:
        spec["cwd"] = os.path.abspath(runtime_env["working_dir"])
        ahead.append(spec["cwd"])
    spec["sys_path"] = [*ahead, *spec["sys_path"]]
    for name in (KEY_VARIABLE, USER_VARIABLE):
        spec["env"].pop(name, None)
    key = blake2b(json.dumps(spec, sort_keys=True).encode(), digest_size=12).hexdigest()
    spec["env"][KEY_VARIABLE] = key
    if merged:
        spec["env"][USER_VARIABLE] = json.dumps(merged, default=str)
    return EnvBase(key, spec, merged)


def _module_path(item: Any) -> str:
    """The folder or file of one entry of ``py_modules``: a path, or a module."""
    found = getattr(item, "__path__", None)
    path: str = os.fspath(next(iter(found)) if found else getattr(item, "__file__", item))
    return path


def _preload() -> list[str]:
    """Modules that the zygote may import ahead: those that it would find where the driver does.

    What the driver has not imported itself is marked: the zygote imports it when it has nothing else to do.
    """
    from importlib.util import find_spec

    chosen = []
    for name in _PRELOAD_ALWAYS + _PRELOAD_IF_IMPORTED:
        module = sys.modules.get(name)
        if module is None and name in _PRELOAD_IF_IMPORTED:
            continue
        try:
            found = find_spec(name)
        except (ImportError, ValueError):
            continue
        if found is not None and (module is None or found.origin == getattr(module, "__file__", None)):
            chosen.append(name if module is not None else name + WHEN_IDLE)
    return chosen


def _in_site(folder: str) -> bool:
    site = sys.modules.get("site")
    if site is None:
        return False
    return folder in site.getsitepackages() or folder == site.getusersitepackages()


def settings() -> dict[str, str]:
    """The variables that the core may read: it does not see what this program has set since it started."""
    return {name: value for name, value in os.environ.items() if name.startswith(("RAY_", "EAGLERAY_"))}
