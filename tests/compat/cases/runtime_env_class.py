"""`runtime_env.RuntimeEnv`: what it accepts, the form that it keeps, and what it is refused with."""

from __future__ import annotations

import importlib
import os
import pickle
import tempfile
from typing import Any

from casebook import attempt, case, own_session


def module(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.runtime_env")


def env(ray: Any, **fields: Any) -> Any:
    return module(ray).RuntimeEnv(**fields)


def shown(found: Any) -> dict[str, Any]:
    """What it holds, without what Ray notes for itself."""
    return {name: value for name, value in sorted(dict(found).items()) if not name.startswith("_ray")}


@case
def empty(ray: Any) -> None:
    print(shown(env(ray)), shown(env(ray, env_vars={}, excludes=[])), isinstance(env(ray), dict))


@case
def variables(ray: Any) -> None:
    found = env(ray, env_vars={"A": "1"})
    print(found, found.env_vars(), found["env_vars"], found.get("nothing"), found.get("nothing", 7))
    attempt("number", lambda: env(ray, env_vars={"A": 1}))
    attempt("name", lambda: env(ray, env_vars={1: "A"}))
    attempt("list", lambda: env(ray, env_vars=["A"]))


@case
def lists_for_pip(ray: Any) -> None:
    print(shown(env(ray, pip=["a", "b", "a"])), shown(env(ray, pip=[])))
    found = env(ray, pip={"packages": ["a"], "pip_version": "==23", "pip_install_options": ["-q"]})
    print(sorted(found["pip"].items()), found.has_pip(), found.has_uv(), found.pip_config() == found["pip"])


@case
def files_for_pip(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "requirements.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("a\nb\n")
        print(shown(env(ray, pip=path)), shown(env(ray, uv=path)), shown(env(ray, pip={"packages": path})))
    attempt("no file", lambda: env(ray, pip="/nothing.txt"))


@case
def refused_for_pip(ray: Any) -> None:
    attempt("number", lambda: env(ray, pip=3))
    attempt("numbers", lambda: env(ray, pip=[3]))
    attempt("field", lambda: env(ray, pip={"packages": [], "other": 1}))
    attempt("no packages", lambda: env(ray, pip={"pip_check": True}))
    attempt("check", lambda: env(ray, pip={"packages": ["a"], "pip_check": "yes"}))
    attempt("version", lambda: env(ray, pip={"packages": ["a"], "pip_version": 3}))
    attempt("options", lambda: env(ray, pip={"packages": ["a"], "pip_install_options": "-q"}))
    attempt("option", lambda: env(ray, pip={"packages": ["a"], "pip_install_options": [1]}))


@case
def lists_for_uv(ray: Any) -> None:
    print(shown(env(ray, uv=["a", "a"])), sorted(env(ray, uv={"packages": ["a"]})["uv"].items()))
    found = env(ray, uv={"packages": ["a"], "uv_version": "==0.4", "uv_check": True, "uv_pip_install_options": ["-q"]})
    print(sorted(found["uv"].items()), found.has_uv(), found.uv_config() == found["uv"])
    attempt("number", lambda: env(ray, uv=3))
    attempt("field", lambda: env(ray, uv={"packages": [], "pip_check": True}))
    attempt("text", lambda: env(ray, uv={"packages": "a"}))
    attempt("package", lambda: env(ray, uv={"packages": [1]}))


@case
def one_tool_at_a_time(ray: Any) -> None:
    attempt("pip and uv", lambda: env(ray, pip=["a"], uv=["a"]))
    attempt("pip and conda", lambda: env(ray, pip=["a"], conda="name"))
    attempt("container", lambda: env(ray, container={"image": "i"}, pip=["a"]))
    attempt("container and variables", lambda: shown(env(ray, container={"image": "i"}, env_vars={"A": "1"})))
    attempt("image", lambda: env(ray, image_uri="i", working_dir="."))


@case
def conda(ray: Any) -> None:
    found = env(ray, conda="name")
    print(found.has_conda(), found.conda_env_name(), found.conda_config(), found.get("conda"))
    found = env(ray, conda={"dependencies": ["b"], "channels": ["a"]})
    print(found.conda_env_name(), found.conda_config())
    attempt("number", lambda: env(ray, conda=3))
    attempt("no file", lambda: env(ray, conda="nothing.yaml"))
    attempt("no folder", lambda: env(ray, conda="/nothing"))


@case
def folders(ray: Any) -> None:
    found = env(ray, working_dir=".", py_modules=["."], excludes=["*.x"])
    print(shown(found), found.has_working_dir(), found.working_dir(), found.working_dir_uri(), found.py_modules())
    attempt("no folder", lambda: env(ray, working_dir="/nothing/here"))
    attempt("number", lambda: env(ray, working_dir=3))
    attempt("text", lambda: env(ray, py_modules="."))
    attempt("numbers", lambda: env(ray, py_modules=[3]))
    attempt("excludes", lambda: env(ray, excludes="x"))
    attempt("excluded numbers", lambda: env(ray, excludes=[1]))


@case
def addresses_of_packages(ray: Any) -> None:
    for uri in ("https://a.b/c.zip", "s3://a/b.zip", "gcs://x.zip", "file:///a/b.tar.gz", "https://a.b/c.zip?x=1"):
        attempt(uri, lambda uri=uri: shown(env(ray, working_dir=uri)))  # type: ignore[misc]
    for uri in ("https://a.b/c.txt", "https://a.b/c.whl", "ftp://a/b.zip", "local://relative"):
        attempt(uri, lambda uri=uri: env(ray, working_dir=uri))  # type: ignore[misc]
    attempt("wheel", lambda: shown(env(ray, py_modules=["https://a.b/c.whl"])))
    attempt("in place", lambda: shown(env(ray, working_dir="local:///opt/app")))


@case
def configuration(ray: Any) -> None:
    config = module(ray).RuntimeEnvConfig
    print(dict(sorted(config().items())), config.default_config() == config())
    print(dict(sorted(config(setup_timeout_seconds=-1, eager_install=False, log_files=["a"]).to_dict().items())))
    found = env(ray, config={"setup_timeout_seconds": 10, "unknown": 1})
    print(type(found["config"]).__name__, dict(sorted(found.to_dict()["config"].items())))
    for label, given in {
        "zero": {"setup_timeout_seconds": 0},
        "text": {"setup_timeout_seconds": "1"},
        "eager": {"eager_install": 1},
        "files": {"log_files": "a"},
        "file": {"log_files": [1]},
    }.items():
        attempt(label, lambda given=given: config(**given))  # type: ignore[misc]
    attempt("list", lambda: env(ray, config=[1]))


@case
def as_texts(ray: Any) -> None:
    found = env(ray, env_vars={"B": "2", "A": "1"}, working_dir="https://a.b/c.zip")
    print(found.serialize())
    again = module(ray).RuntimeEnv.deserialize(found.serialize())
    print(again == found, type(again).__name__, found.to_dict() == dict(found), type(found.to_dict()).__name__)
    copy = pickle.loads(pickle.dumps(found))
    print(copy == found, type(copy) is type(found))


@case
def setting_fields(ray: Any) -> None:
    found = env(ray)
    found["env_vars"] = {"A": "1"}
    found.set("pip", ["a"])
    found["mine"] = 3
    found["excludes"] = []
    print(shown(found), found.plugins())
    attempt("wrong", lambda: found.__setitem__("env_vars", {"A": 1}))
    attempt("extension", lambda: found.get_extension("_ray_commit") is not None)
    attempt("other extension", lambda: found.get_extension("mine"))


@case
def other_fields(ray: Any) -> None:
    found = env(ray, py_executable="python3", worker_process_setup_hook="a.b", nsight="default", mine={"x": 1})
    print(
        shown(found), found.py_executable(), found.nsight(), found.rocprof_sys(), found.java_jars(), found.image_uri()
    )
    found = env(ray, container={"image": "i", "run_options": ["-v"]})
    print(found.has_py_container(), found.py_container_image(), found.py_container_run_options())
    print(env(ray).py_container_image(), env(ray).env_vars(), env(ray).working_dir(), env(ray).pip_config())


@case
def without_checks(ray: Any) -> None:
    print(shown(env(ray, env_vars={"A": 1}, _validate=False)))


@case
def in_a_task(ray: Any) -> None:
    @ray.remote
    def look() -> Any:
        found = ray.get_runtime_context().runtime_env
        return os.environ.get("COMPAT_HUE"), type(found).__name__, found.get("env_vars"), found.env_vars()

    given = env(ray, env_vars={"COMPAT_HUE": "red"})
    print(ray.get(look.options(runtime_env=given).remote()))
    print(ray.get(look.options(runtime_env=dict(given)).remote()))


@own_session
def of_a_job(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False, runtime_env=env(ray, env_vars={"COMPAT_HUE": "green"}))
    print(ray.get(ray.remote(lambda: os.environ["COMPAT_HUE"]).remote()))
    print(ray.get_runtime_context().runtime_env.env_vars(), ray.get_runtime_context().get_runtime_env_string()[:12])
