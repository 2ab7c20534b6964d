"""Virtual environments for the fields ``pip`` and ``uv``.

An environment inherits the packages of the interpreter that the program runs: what is installed there need not be
installed again. If that interpreter is in a virtual environment itself, a ``.pth`` file of the new one names its
folders.
"""

from __future__ import annotations

import json
import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any

from eagleray._private.environments.tools import MakingError, public, run

#: The variable that lists of requirements may use: the folder of ``working_dir`` on this node. The name is Ray's.
WORKING_DIR_VARIABLE = "RAY_RUNTIME_ENV_CREATE_WORKING_DIR"
_PIP_OPTIONS = ("--disable-pip-version-check", "--no-cache-dir")
_UV_OPTIONS = ("--no-cache",)
#: Prints what workers need of an environment: its own folders of packages, and where it finds Eagle Ray.
_LOOK = """
import json, sys, sysconfig
from importlib.util import find_spec
own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
found = [entry for entry in sys.path if entry in own or entry.startswith(sys.prefix + "/")]
spec = find_spec("eagleray")
print(json.dumps([found, spec and spec.origin]))
"""


def make(order: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the environment of an order, and returns the answer for the zygote."""
    field, what, folder = order["field"], order["what"], order["folder"]
    home = os.path.join(folder, "virtualenv")
    work = os.path.join(folder, "empty")  # tools run here, where nothing lies that they could import
    os.makedirs(work)
    python = os.path.join(home, "bin", "python")
    env = _variables(order, home)
    inherits = sys.prefix == sys.base_prefix or _inherits_of_the_system()
    command = [sys.executable, "-m", "venv", "--without-pip", *(["--system-site-packages"] if inherits else []), home]
    run(command, work, "making a virtual environment", _plain(env))
    if sys.prefix != sys.base_prefix:
        _inherit(python, home, work, env)
    requirements = os.path.join(folder, "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in what["packages"]))
    asked = f"runtime_env[{field!r}] asks for {public(', '.join(what['packages']))[:500]}"
    try:
        if field == "pip":
            _with_pip(python, requirements, what, work, env)
        else:
            _with_uv(python, requirements, what, work, env)
    except MakingError as problem:
        raise MakingError(f"{problem}\n{asked}") from None
    own, ours = json.loads(run([python, "-c", _LOOK], work, "looking at the new environment", env).splitlines()[-1])
    if ours is not None and ours.startswith(home + os.sep):
        raise MakingError(
            f"the packages install Eagle Ray at {os.path.dirname(ours)}, and workers must run that of their node. "
            f"{asked}"
        )
    return {
        "command": [python],
        "sites": own,
        "before": [*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("purelib")],
        "variables": {"VIRTUAL_ENV": home},
        "path": os.path.join(home, "bin"),
    }


def _variables(order: Mapping[str, Any], home: str) -> dict[str, str]:
    """Returns the variables of the tools: those of the runtime environment's workers."""
    from eagleray._private.environments import arrangement

    env = dict(os.environ)
    env[WORKING_DIR_VARIABLE] = arrangement.working_dir(order["cwd"], order["needs"], order["before"])
    env["VIRTUAL_ENV"] = home
    env["PATH"] = os.pathsep.join(filter(None, [os.path.join(home, "bin"), env.get("PATH")]))
    return env


def _plain(env: Mapping[str, str]) -> dict[str, str]:
    """Returns variables without those that lead an interpreter to other modules than its own."""
    return {name: text for name, text in env.items() if name not in ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")}


def _inherits_of_the_system() -> bool:
    """Whether the virtual environment that this interpreter is in has the packages of the system's."""
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            text = file.read().lower()
    except OSError:
        return False
    return any(line.replace(" ", "") == "include-system-site-packages=true" for line in text.splitlines())


def _inherit(python: str, home: str, work: str, env: Mapping[str, str]) -> None:
    """Adds the packages of the virtual environment that this interpreter is in, with what its ``.pth`` files add."""
    own = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], work, "looking", _plain(env))
    sites = [entry for entry in site.getsitepackages() if os.path.isdir(entry)]
    with open(os.path.join(own.splitlines()[-1], "_inherited.pth"), "w", encoding="utf-8") as file:
        file.write("".join(f"import site; site.addsitedir({entry!r})\n" for entry in sites))


def _with_pip(python: str, requirements: str, what: Mapping[str, Any], work: str, env: Mapping[str, str]) -> None:
    _have_pip(python, work, env)
    pip = [python, "-m", "pip"]
    if what.get("pip_version"):
        wanted = "pip" + what["pip_version"]
        run([*pip, "install", "--disable-pip-version-check", wanted], work, f"installing {wanted}", env)
    options = what.get("pip_install_options", _PIP_OPTIONS)
    run([*pip, "install", "-r", requirements, *options], work, "installing with pip", env)
    if what["pip_check"]:
        run([*pip, "check", "--disable-pip-version-check"], work, "pip_check, which looks for conflicts,", env)


def _have_pip(python: str, work: str, env: Mapping[str, str]) -> None:
    """Gives the environment pip if it does not inherit one."""
    try:
        run([python, "-c", "import pip"], work, "looking for pip", env)
    except MakingError:
        try:
            run([python, "-m", "ensurepip", "--default-pip"], work, "installing the pip that Python brings", env)
        except MakingError as problem:
            raise MakingError(
                f"the interpreter {sys.executable} has no pip, and brings none. Install pip there, or use uv. {problem}"
            ) from None


def _with_uv(python: str, requirements: str, what: Mapping[str, Any], work: str, env: Mapping[str, str]) -> None:
    uv = None if what.get("uv_version") else _find_uv(env)
    if uv is None:
        wanted = "uv" + what.get("uv_version", "")
        _have_pip(python, work, env)
        command = [python, "-m", "pip", "install", *_PIP_OPTIONS, "--ignore-installed", wanted]
        run(command, work, f"installing {wanted}, which is not on this node,", env)
        uv = os.path.join(os.path.dirname(python), "uv")
    options = what.get("uv_pip_install_options", _UV_OPTIONS)
    run([uv, "pip", "install", "--python", python, "-r", requirements, *options], work, "installing with uv", env)
    if what["uv_check"]:
        run([uv, "pip", "check", "--python", python], work, "uv_check, which looks for conflicts,", env)


def _find_uv(env: Mapping[str, str]) -> str | None:
    """Returns the program uv: that of the package uv where the interpreter has it, else that on the search path."""
    import shutil

    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    if os.access(beside, os.X_OK):
        return beside
    return shutil.which("uv", path=env.get("PATH"))
