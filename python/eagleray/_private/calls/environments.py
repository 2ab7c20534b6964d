"""Runtime environments: the interpreter, paths, folder and variables of the processes that run this program's tasks."""

from __future__ import annotations

import json
import os
import sys
from _blake2 import blake2b  # what hashlib gives, without loading OpenSSL
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from eagleray._private import ray_name
from eagleray._private.calls import python_path
from eagleray._private.hot_error import HotError, explain
from eagleray._private.libraries import cache, finder
from eagleray._private.messages import pack
from eagleray._private.state import DRIVER, EnvBase, Session, process

#: Variables that libraries read when they are imported. A change of one needs a zygote that has not imported them.
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
#: Modules of third parties that a zygote imports before it is asked, if the driver has imported them.
_PRELOAD_ALWAYS = ("numpy",)
_PRELOAD_IF_IMPORTED = (
    *("pandas", "numba", "numba.cuda", "pyarrow", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet"),
    *("ray.data", "ray.tune", "ray.train", "ray.serve", "ray.rllib"),
)
_RPC_TIMEOUT_MS = 30_000
_PACK_TIMEOUT_MS = 600_000

#: What of a folder is not copied to other nodes, unless the variable says otherwise. The names are Ray's.
_EXCLUDED = ".git,.venv,venv,__pycache__"
_EXCLUDED_VARIABLE = "RAY_OVERRIDE_RUNTIME_ENV_DEFAULT_EXCLUDES"
_NO_GITIGNORE_VARIABLE = "RAY_RUNTIME_ENV_IGNORE_GITIGNORE"

#: The fields of a submission that the nodes of its tasks make anew. Its folders travel as packages.
_MADE_ON_NODES = frozenset(("pip", "uv", "py_executable", "worker_process_setup_hook", "config"))

#: The mark after the name of a module that a zygote imports when it is idle.
WHEN_IDLE = "?"

#: Variables that tell a worker about itself. They are removed before user code runs.
KEY_VARIABLE = "EAGLERAY_ENV_KEY"
USER_VARIABLE = "EAGLERAY_RUNTIME_ENV"
PYTHONPATH_VARIABLE = "EAGLERAY_DRIVER_PYTHONPATH"
#: Settings that keep libraries from starting threads while they are imported: a process with threads cannot be forked
#: safely. A zygote starts with those that its environment does not set, and removes them before user code runs.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
#: The variable of a zygote that lists the names of ONE_THREAD which it was started with and user code must not see.
ADDED_VARIABLE = "EAGLERAY_ZYGOTE_ADDED"
#: The variable of a zygote that has the ``LoggingConfig`` of the job, as JSON. User code does not see it.
LOGGING_VARIABLE = "EAGLERAY_LOGGING_CONFIG"
#: Variables that hold secrets of the cluster: no worker gets them. core/internal/environ has the same list.
SECRETS = frozenset(("RAY_AUTH_TOKEN",))
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Inherited(Protocol):
    """What the driver of a submitted job has from its submission."""

    runtime_env: dict[str, Any]
    packages: list[dict[str, Any]]
    python: str
    prefix: str


def driver_base(runtime_env: Mapping[str, Any] | None, submission: Inherited | None = None) -> EnvBase:
    """Returns the environment of a driver's tasks: the driver's own interpreter, paths, folder and variables.

    Args:
        runtime_env: What the driver adds.
        submission: What its submission has made already: the driver runs in it.
    """
    cwd = os.getcwd()
    now, before = os.environ.get(python_path.NAME), python_path.at_start()
    path = [_absolute(os.fspath(entry), cwd) for entry in sys.path]
    if now != before:
        path = python_path.follow(path, python_path.folders(now, cwd), python_path.folders(before, cwd))
    job_env = {name: text for name, text in os.environ.items() if name not in SECRETS}
    _make_startable(job_env)
    spec: dict[str, Any] = {
        "python": sys.executable or os.environ.get("EAGLERAY_PYTHON", "python3"),
        "sys_path": path,
        "cwd": cwd,
        "env": {},
        "preload": _preload(),
        "bare": False,
        "job_env": job_env,
    }
    _add_libraries(spec)
    checked = _checked(runtime_env) if runtime_env else {}
    if submission is None:
        return _derive(EnvBase("", spec, {}), checked)
    if submission.packages:
        spec["packages"] = [*submission.packages, *spec.get("packages", ())]
    again = {field: value for field, value in submission.runtime_env.items() if field in _MADE_ON_NODES}
    if again.keys() & {"pip", "uv"} and sys.prefix == submission.prefix:
        # This process runs in this node's virtual environment: other nodes lack its interpreter and its folders.
        spec["python"] = submission.python
        spec["sys_path"] = [entry for entry in path if not entry.startswith(sys.prefix + os.sep)]
    if again:
        spec = _derive(EnvBase("", spec, {}), _checked(again)).spec
    return _derive(EnvBase("", spec, submission.runtime_env), checked)


def worker_base(setup: Mapping[str, Any], environ: Mapping[str, str]) -> EnvBase:
    """Returns the environment that a worker runs in, which its own tasks inherit.

    Args:
        setup: The setup that its zygote got from the daemon.
        environ: The zygote's variables.
    """
    variables = {name: text for name, text in setup["env"].items() if name not in (KEY_VARIABLE, USER_VARIABLE)}
    # Variables of this node stay here: the worker's tasks may run on other nodes.
    without = {KEY_VARIABLE, USER_VARIABLE, *SECRETS, *(setup.get("node_env") or ())}
    job_env = {name: text for name, text in environ.items() if name not in without}
    _make_startable(job_env)
    spec = {
        "python": setup.get("python") or sys.executable,
        "sys_path": setup["sys_path"],
        "cwd": setup["cwd"],
        "env": variables,
        "preload": setup["preload"],
    }
    spec.update(bare=bool(setup["bare"]), job_env=job_env)
    if setup.get("packages"):
        spec["packages"] = setup["packages"]
    if setup.get("needs"):
        spec["needs"] = setup["needs"]
    return EnvBase(setup["env"].get(KEY_VARIABLE, ""), spec, json.loads(setup["env"].get(USER_VARIABLE) or "{}"))


def key_for(session: Session, runtime_env: Mapping[str, Any] | None) -> str:
    """Returns the key of the environment for a task's or actor's ``runtime_env``. The daemon is told of it."""
    if finder.number_found() != session.libraries:
        _follow_libraries(session)
    base = session.env
    if not runtime_env:
        return base.key
    name = json.dumps(runtime_env, sort_keys=True, default=repr) if _says_all(runtime_env) else ""
    known = session.envs.get(name)
    if known is not None:
        return known
    checked = _checked(runtime_env)
    made = _derive(base, checked)
    if made.key != base.key:
        _define(session, made.spec, made.key)
    if name:
        session.envs[name] = made.key
    return made.key


def _follow_libraries(session: Session) -> None:
    """Gives the session's environment what the program has loaded of Ray's libraries since it was made."""
    session.libraries = finder.number_found()
    if session.role != DRIVER:
        return  # a worker has what its program has
    base = session.env
    spec = {**base.spec, "env": dict(base.spec["env"]), "job_env": dict(base.spec["job_env"])}
    spec["preload"] = list(dict.fromkeys([*spec["preload"], *_preload()]))
    spec["job_env"][ray_name.VARIABLE] = "1"
    _add_libraries(spec)
    made = _derive(EnvBase("", spec, base.runtime_env), {})
    if made.key == base.key:
        return
    _define(session, made.spec, made.key)
    session.env = made
    session.envs.clear()


def _add_libraries(spec: dict[str, Any]) -> None:
    """Adds the files of Ray's libraries, if the program uses them: other nodes may lack them."""
    root = finder.root() if finder.number_found() else None
    if root is None or root in spec["sys_path"]:
        return
    spec["sys_path"] = [*spec["sys_path"], root]
    package = {"Path": os.path.join(root, cache.INNER), "Module": True, "Excludes": ["__pycache__"]}
    spec["packages"] = [*spec.get("packages", ()), {**package, "NoGitignore": True, "Hash": "", "Node": 0}]


def _define(session: Session, spec: Mapping[str, Any], key: str) -> None:
    """Tells the daemon of an environment."""
    # A call is answered when the folders of the environment were brought to the head.
    limit = _PACK_TIMEOUT_MS if "packages" in spec else _RPC_TIMEOUT_MS
    try:
        session.hot.rpc("env_define", pack({**spec, "key": key}), limit)
    except HotError as error:
        raise explain(error) from None


def key_of_program(
    session: Session, runtime_env: Mapping[str, Any] | None, program: str, variables: Mapping[str, str], python: str
) -> str:
    """Returns the key of an environment whose workers are processes of another program than the interpreter.

    The daemon is told of it. Other nodes get a copy of the program.

    Args:
        session: The session.
        runtime_env: What the environment changes in that of the session.
        program: The path of the program.
        variables: What its processes find in their environment, beside what Python workers find there.
        python: The variable in which they find the interpreter.
    """
    name = json.dumps([runtime_env, program, dict(variables)], sort_keys=True, default=repr)
    known = session.envs.get(name)
    if known is not None:
        return known
    checked = _checked(runtime_env) if runtime_env else {}
    base = _derive(session.env, checked)
    spec = {**base.spec, "env": {**base.spec["env"], **variables, python: base.spec["python"]}}
    _refuse_needs(spec.pop("needs", ()), checked)
    spec.update(python=program, preload=[])
    package = {"Path": program, "Module": True, "Excludes": [], "NoGitignore": True, "Hash": "", "Node": 0}
    spec["packages"] = [*base.spec.get("packages", ()), package]
    key = blake2b(json.dumps(spec, sort_keys=True).encode(), digest_size=12).hexdigest()
    spec["env"][KEY_VARIABLE] = key
    _define(session, spec, key)
    session.envs[name] = key
    return key


def _refuse_needs(needs: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]) -> None:
    """Raises for what workers of another program than the interpreter cannot have.

    Packages, hooks and interpreters that such a call inherits do not matter to it. A working directory does.
    """
    fields = {need["Field"] for need in needs}
    for field in ("working_dir", "py_modules", "pip", "uv", "py_executable", "worker_process_setup_hook"):
        if field in fields and (field in asked or field == "working_dir"):
            raise ValueError(
                f"runtime_env[{field!r}]: workers in Go take env_vars, and a working_dir that is a folder of the "
                "program's machine"
            )


def check_early(runtime_env: Mapping[str, Any]) -> None:
    """Raises if an option ``runtime_env`` cannot be made, before anything is called with it.

    Nothing is checked in workers: a module that workers import may have paths of the program's machine in its
    decorators. It is checked again at the first call.
    """
    session = process.session
    if not runtime_env or (session is not None and session.role != DRIVER):
        return
    if session is not None and _says_all(runtime_env):
        if json.dumps(runtime_env, sort_keys=True, default=repr) in session.envs:
            return
    check_runtime_env(runtime_env)


def _says_all(runtime_env: Mapping[str, Any]) -> bool:
    """Whether equal texts of ``runtime_env`` mean equal environments: functions and files may have changed since."""
    hook = runtime_env.get("worker_process_setup_hook")
    if hook is not None and not isinstance(hook, str):
        return False
    for field in ("pip", "uv"):
        asked = runtime_env.get(field)
        if isinstance(asked.get("packages") if isinstance(asked, Mapping) else asked, (str, os.PathLike)):
            return False
    return True


def check_runtime_env(runtime_env: Mapping[str, Any] | None) -> None:
    """Raises if a ``runtime_env`` cannot be made."""
    if runtime_env:
        _checked(runtime_env)


def _checked(runtime_env: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a ``runtime_env`` in one form, or raises."""
    from eagleray._private.environments import checks

    found = checks.normalised(runtime_env)
    _check_variables(found.get("env_vars", {}))
    return found


#: The largest total of bytes of a runtime environment's variables. Ray allows 1 MiB for the whole environment.
_MOST_VARIABLES = 8 << 20

#: The kernel's limit for one variable of a program, in bytes: name, "=", text and the byte behind it.
_MOST_INHERITED = 128 << 10


def _check_variables(variables: Mapping[str, str]) -> None:
    """Raises when variables are too large to be set in every worker, or when no process can have them."""
    for name, text in variables.items():
        if not name or "=" in name or "\0" in name + text:
            raise ValueError(
                f"runtime_env['env_vars'] has the variable {name!r:.100}, and no process can have it: a name is not "
                "empty and has no '=' in it, and neither a name nor a text has a null character in it"
            )
    size = sum(len(name) + len(text) for name, text in variables.items())
    if size > _MOST_VARIABLES:
        name = max(variables, key=lambda name: len(variables[name]))
        raise ValueError(
            f"runtime_env['env_vars'] has {size} characters, and at most {_MOST_VARIABLES} are allowed; the largest "
            f"variable is {name[:100]!r} with {len(variables[name])}. Pass large values as arguments, or put them into "
            "a file or the object store"
        )


def check_inherited(environ: Mapping[str, str]) -> None:
    """Raises when the program has set a variable with which no process can be started."""
    for name, text in environ.items():
        if len(os.fsencode(name)) + len(os.fsencode(text)) + 2 > _MOST_INHERITED:
            raise ValueError(
                f"os.environ[{name[:100]!r}] has {len(text)} characters: the operating system starts no process with a "
                f"variable of more than {_MOST_INHERITED} bytes, so neither the session nor its workers can start. "
                "Delete it, or give it to the tasks that need it by runtime_env={'env_vars': ...}"
            )


def _derive(base: EnvBase, runtime_env: Mapping[str, Any]) -> EnvBase:
    """Returns ``base`` changed by a checked ``runtime_env``: variables are added, other fields are replaced."""
    spec = {**base.spec, "env": dict(base.spec["env"])}
    merged = {**base.runtime_env, **runtime_env}
    variables = {**base.runtime_env.get("env_vars", {}), **runtime_env.get("env_vars", {})}
    if variables:
        merged["env_vars"] = variables
    for field, other in (("pip", "uv"), ("uv", "pip")):
        if field in runtime_env:
            merged.pop(other, None)
    inherited = user_variables(base.spec)
    wanted = _expanded(runtime_env.get("env_vars", {}), inherited)
    spec["env"].update(wanted)
    if any(name.startswith(_READ_AT_IMPORT) for name, text in wanted.items() if inherited.get(name) != text):
        spec["bare"] = True
    path: list[str] = spec["sys_path"]
    ahead: list[str] = []
    if runtime_env.keys() - {"env_vars", "excludes"}:
        path, ahead = _change(spec, runtime_env, merged)
    if python_path.NAME in wanted:
        text = spec["env"].pop(python_path.NAME)  # the zygote's own differs while it starts: see _make_startable
        spec["job_env"] = {**spec["job_env"], python_path.NAME: text}
        spec["job_env"].pop(PYTHONPATH_VARIABLE, None)
        _add_package(spec["job_env"])
        before = python_path.folders(inherited.get(python_path.NAME), base.spec["cwd"])
        path = python_path.replace(path, python_path.folders(text, spec["cwd"]), before, _always_there())
    elif spec["cwd"] != base.spec["cwd"]:  # relative names mean other folders to an interpreter that starts there
        text = inherited.get(python_path.NAME)
        now, before = (python_path.folders(text, cwd) for cwd in (spec["cwd"], base.spec["cwd"]))
        path = [*path[:1], *python_path.follow(path[1:], now, before)]
    spec["sys_path"] = [*ahead, *path]
    for name in (KEY_VARIABLE, USER_VARIABLE):
        spec["env"].pop(name, None)
    key = blake2b(json.dumps(spec, sort_keys=True).encode(), digest_size=12).hexdigest()
    spec["env"][KEY_VARIABLE] = key
    if merged:
        if "worker_process_setup_hook" in runtime_env:
            merged["worker_process_setup_hook"] = merged["worker_process_setup_hook"][0]
        spec["env"][USER_VARIABLE] = json.dumps(merged, default=str)
    return EnvBase(key, spec, merged)


def _change(
    spec: dict[str, Any], runtime_env: Mapping[str, Any], merged: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Changes an environment by the fields that nodes have to bring or make something for.

    Returns:
        Its search path, and what comes in front of that.
    """
    from eagleray._private.environments import wanted

    text = os.environ.get(_EXCLUDED_VARIABLE, _EXCLUDED)
    excludes = [*filter(None, map(str.strip, text.split(","))), *merged.get("excludes", ())]
    no_gitignore = os.environ.get(_NO_GITIGNORE_VARIABLE) == "1"
    own = [*_always_there(), *(entry for entry in sys.path if entry.startswith(sys.base_prefix + os.sep))]
    parts = wanted.change(spec, runtime_env, (excludes, no_gitignore), user_variables(spec), own, _PACKAGE)
    spec["cwd"] = parts.cwd
    for name, value in (("packages", parts.packages), ("needs", parts.needs)):
        if value:
            spec[name] = value
        else:
            spec.pop(name, None)
    if any(need["Field"] == "py_executable" for need in parts.needs):
        spec["job_env"] = dict(spec["job_env"])
        add_package(spec["job_env"])  # that interpreter does not find this package where the program's does
    return parts.path, parts.ahead


def _always_there() -> list[str]:
    """Returns the folders that workers have whatever ``PYTHONPATH`` says: the interpreter's and this package's."""
    import site
    import sysconfig

    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    own = [*site.getsitepackages(), site.getusersitepackages(), *paths]
    return [_PACKAGE, os.path.join(_PACKAGE, "ray_compat"), os.path.dirname(ray_name.__file__), *own]


def _make_startable(job_env: dict[str, str]) -> None:
    """Adds variables that a zygote needs at its start and user code must not see. ``as_users_see`` removes them."""
    added = [name for name in ONE_THREAD if name not in job_env]
    job_env.update({name: ONE_THREAD[name] for name in added})
    job_env[ADDED_VARIABLE] = ",".join(added)
    alias = sys.modules.get("eagleray._private.alias")
    if alias is not None and alias.installed():
        job_env[ray_name.VARIABLE] = "1"
    job_logging = sys.modules.get("eagleray._private.job_logging")
    configured = job_logging.to_variable() if job_logging is not None else None
    if configured is not None:
        job_env[LOGGING_VARIABLE] = configured
    _add_package(job_env)


def _add_package(job_env: dict[str, str]) -> None:
    if not _in_site(_PACKAGE):
        add_package(job_env)


def add_package(job_env: dict[str, str], path: Sequence[str] = ()) -> None:
    """Lets a zygote find this package before it knows the driver's ``sys.path``.

    Args:
        job_env: The variables that the zygote is started with.
        path: Further folders of modules, for a zygote that starts without ``site``.
    """
    if PYTHONPATH_VARIABLE not in job_env:
        text = job_env.get(python_path.NAME)
        job_env[PYTHONPATH_VARIABLE] = "" if text is None else "=" + text
        job_env[python_path.NAME] = os.pathsep.join(filter(None, [_PACKAGE, text]))
    if path:
        job_env[python_path.NAME] = os.pathsep.join([_PACKAGE, *path])


def as_users_see(environ: MutableMapping[str, str]) -> None:
    """Removes the variables that were added for a zygote's start."""
    for name in environ.pop(ADDED_VARIABLE, "").split(","):
        environ.pop(name, None)
    environ.pop(ray_name.VARIABLE, None)
    environ.pop(LOGGING_VARIABLE, None)
    text = environ.pop(PYTHONPATH_VARIABLE, None)
    if text:
        environ[python_path.NAME] = text[1:]
    elif text is not None:
        environ.pop(python_path.NAME, None)


def user_variables(spec: Mapping[str, Any]) -> dict[str, str]:
    """Returns the variables that user code sees in an environment."""
    seen = dict(spec["job_env"])
    as_users_see(seen)
    seen.update(spec["env"])
    return seen


def _expanded(wanted: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the values of ``env_vars``. Each may refer to inherited variables and to those before it."""
    known, values = dict(inherited), {}
    for name, text in wanted.items():
        known[name] = values[name] = python_path.expand(text, known)
    return values


def _absolute(entry: str, cwd: str) -> str:
    """Returns an entry of ``sys.path`` as an absolute path. An entry that names no folder stays as it is."""
    if not entry or (not os.path.isabs(entry) and os.path.exists(os.path.join(cwd, entry))):
        return os.path.normpath(os.path.join(cwd, entry))
    return entry


def _preload() -> list[str]:
    """Returns the modules that the zygote may import before it is asked: it finds them where the driver finds them.

    A module that the driver has not imported is marked: the zygote imports it when it has nothing else to do.
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
    """Returns the variables that the core may read. It does not see those that this program has set since its start."""
    return {name: value for name, value in os.environ.items() if name.startswith(("RAY_", "EAGLERAY_"))}
