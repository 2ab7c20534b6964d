"""What `runtime_env` takes, how environments are merged and inherited, and what fails when they cannot be made."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import zipfile
from collections.abc import Callable
from typing import Any

from casebook import DEFAULT_INIT, accepts, attempt, case, own_session


def nothing() -> int:
    return 1


def environ(*names: str) -> list[str | None]:
    return [os.environ.get(name) for name in names]


def init(ray: Any, **runtime_env: Any) -> None:
    ray.init(**DEFAULT_INIT, runtime_env=runtime_env)


def taken(ray: Any, values: dict[str, Any]) -> None:
    """Prints which environments `options` takes; nothing runs."""
    task = ray.remote(nothing)
    for label, value in values.items():
        accepts(label, lambda value=value: task.options(runtime_env=value))


def error_of(call: Callable[[], Any]) -> str:
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}, a RayError: {any(one.__name__ == 'RayError' for one in type(error).__mro__)}"


@case
def fields_of_a_wrong_type(ray: Any) -> None:
    values: dict[str, Any] = {
        "a number": 1,
        "a string": "x",
        "None": None,
        "empty": {},
        "env_vars is a list": {"env_vars": ["A"]},
        "env_vars is None": {"env_vars": None},
        "env_vars has a number": {"env_vars": {"A": 1}},
        "env_vars has a number as name": {"env_vars": {1: "A"}},
        "excludes is a string": {"excludes": "*.txt"},
        "excludes has a number": {"excludes": [1]},
        "excludes is empty": {"excludes": []},
        "working_dir is a number": {"working_dir": 3},
        "py_modules is a string": {"py_modules": "x"},
        "py_modules has a number": {"py_modules": [1]},
        "config is a number": {"config": 1},
    }
    task = ray.remote(nothing)
    for label, value in values.items():
        accepts(label, lambda value=value: task.options(runtime_env=value).remote())


@case
def forms_of_pip(ray: Any) -> None:
    taken(
        ray,
        {
            "a list": {"pip": ["a", "b==1"]},
            "empty": {"pip": []},
            "a number": {"pip": 1},
            "a tuple": {"pip": ("a",)},
            "numbers in a list": {"pip": [1]},
            "a dictionary": {"pip": {"packages": ["a"]}},
            "no packages": {"pip": {}},
            "packages are a number": {"pip": {"packages": 1}},
            "an unknown key": {"pip": {"packages": ["a"], "what": 1}},
            "pip_check": {"pip": {"packages": ["a"], "pip_check": True}},
            "pip_check is text": {"pip": {"packages": ["a"], "pip_check": "yes"}},
            "pip_version": {"pip": {"packages": ["a"], "pip_version": "==23.0"}},
            "pip_version is a number": {"pip": {"packages": ["a"], "pip_version": 23}},
            "pip_install_options": {"pip": {"packages": ["a"], "pip_install_options": ["--no-cache-dir"]}},
            "pip_install_options are text": {"pip": {"packages": ["a"], "pip_install_options": "--user"}},
            "pip_install_options have a number": {"pip": {"packages": ["a"], "pip_install_options": [1]}},
            "a missing file": {"pip": "/no/such/requirements.txt"},
        },
    )


@case
def forms_of_uv(ray: Any) -> None:
    taken(
        ray,
        {
            "a list": {"uv": ["a", "b==1"]},
            "empty": {"uv": []},
            "a number": {"uv": 1},
            "a dictionary": {"uv": {"packages": ["a"]}},
            "no packages": {"uv": {"uv_check": True}},
            "packages are text": {"uv": {"packages": "a"}},
            "packages have a number": {"uv": {"packages": [1]}},
            "an unknown key": {"uv": {"packages": ["a"], "pip_check": True}},
            "uv_check": {"uv": {"packages": ["a"], "uv_check": True}},
            "uv_check is text": {"uv": {"packages": ["a"], "uv_check": "yes"}},
            "uv_version is a number": {"uv": {"packages": ["a"], "uv_version": 1}},
            "uv_pip_install_options": {"uv": {"packages": ["a"], "uv_pip_install_options": ["--no-cache"]}},
            "uv_pip_install_options are text": {"uv": {"packages": ["a"], "uv_pip_install_options": "x"}},
            "uv_pip_install_options have a number": {"uv": {"packages": ["a"], "uv_pip_install_options": [1]}},
            "a missing file": {"uv": "/no/such/requirements.txt"},
        },
    )


@case
def forms_of_config(ray: Any) -> None:
    taken(
        ray,
        {
            "seconds": {"config": {"setup_timeout_seconds": 10}},
            "no limit": {"config": {"setup_timeout_seconds": -1}},
            "0 seconds": {"config": {"setup_timeout_seconds": 0}},
            "-2 seconds": {"config": {"setup_timeout_seconds": -2}},
            "half a second": {"config": {"setup_timeout_seconds": 0.5}},
            "text": {"config": {"setup_timeout_seconds": "1"}},
            "lazy": {"config": {"eager_install": False}},
            "lazy is text": {"config": {"eager_install": "no"}},
            "empty": {"config": {}},
        },
    )


@case
def forms_of_uris(ray: Any) -> None:
    taken(
        ray,
        {
            "https zip": {"working_dir": "https://example.com/a.zip"},
            "https tar.gz": {"working_dir": "https://example.com/a.tar.gz"},
            "https tgz": {"working_dir": "https://example.com/a.tgz"},
            "https with a query": {"working_dir": "https://example.com/a.zip?token=1"},
            "https without an ending": {"working_dir": "https://example.com/a"},
            "https exe": {"working_dir": "https://example.com/a.exe"},
            "a wheel as working_dir": {"working_dir": "https://example.com/a.whl"},
            "file": {"working_dir": "file:///no/such/a.zip"},
            "s3": {"working_dir": "s3://bucket/a.zip"},
            "gs": {"working_dir": "gs://bucket/a.zip"},
            "ftp": {"working_dir": "ftp://example.com/a.zip"},
            "module zip": {"py_modules": ["https://example.com/a.zip"]},
            "module wheel": {"py_modules": ["https://example.com/a-1-py3-none-any.whl"]},
            "module without an ending": {"py_modules": ["https://example.com/a"]},
        },
    )


@case
def pip_and_uv_exclude_each_other(ray: Any) -> None:
    task = ray.remote(nothing)
    both = {"pip": ["a"], "uv": ["b"]}
    accepts("both", lambda: task.options(runtime_env=both).remote())
    accepts("with conda", lambda: task.options(runtime_env={"pip": ["a"], "conda": "base"}).remote())
    accepts("conda and uv", lambda: task.options(runtime_env={"uv": ["a"], "conda": "base"}).remote())


@case
def a_task_s_variables(ray: Any) -> None:
    look = ray.remote(environ)
    env = {"env_vars": {"COLOUR": "red", "EMPTY": ""}}
    print(ray.get(look.options(runtime_env=env).remote("COLOUR", "EMPTY", "ABSENT")))
    print(ray.get(look.remote("COLOUR", "EMPTY")))


@case
def variables_refer_to_others(ray: Any) -> None:
    look = ray.remote(environ)
    env = {"env_vars": {"BASE": "/base", "LONG": "${BASE}/bin", "SELF": "x:${SELF}", "PLAIN": "a$", "HOME2": "${HOME}"}}
    values = ray.get(look.options(runtime_env=env).remote("BASE", "SELF", "PLAIN"))
    print(values)
    print(ray.get(look.options(runtime_env=env).remote("HOME2"))[0] == os.environ["HOME"])


@case
def an_actor_s_variables(ray: Any) -> None:
    class Looker:
        def look(self, *names: str) -> Any:
            return environ(*names)

    actor = ray.remote(Looker).options(runtime_env={"env_vars": {"COLOUR": "blue"}}).remote()
    print(ray.get(actor.look.remote("COLOUR")))
    declared = ray.remote(runtime_env={"env_vars": {"COLOUR": "green"}})(Looker)
    print(ray.get(declared.remote().look.remote("COLOUR")))
    print(ray.get(declared.options(runtime_env={"env_vars": {"SIZE": "1"}}).remote().look.remote("COLOUR", "SIZE")))


@case
def options_replace_what_the_decorator_says(ray: Any) -> None:
    declared = ray.remote(runtime_env={"env_vars": {"COLOUR": "green", "SIZE": "1"}})(environ)
    print(ray.get(declared.remote("COLOUR", "SIZE")))
    print(ray.get(declared.options(runtime_env={"env_vars": {"COLOUR": "red"}}).remote("COLOUR", "SIZE")))
    print(ray.get(declared.options(num_cpus=1).remote("COLOUR", "SIZE")))


@case
def nested_tasks_inherit(ray: Any) -> None:
    look = ray.remote(environ)

    def outer() -> Any:
        more = look.options(runtime_env={"env_vars": {"B": "2"}})
        other = look.options(runtime_env={"env_vars": {"A": "3"}})
        return ray.get([look.remote("A", "B"), more.remote("A", "B"), other.remote("A", "B")])

    print(ray.get(ray.remote(outer).options(runtime_env={"env_vars": {"A": "1"}}).remote()))


@case
def actors_that_tasks_make_inherit(ray: Any) -> None:
    class Looker:
        def look(self, *names: str) -> Any:
            return environ(*names)

    def outer() -> Any:
        actor = ray.remote(Looker).remote()
        return ray.get(actor.look.remote("A"))

    print(ray.get(ray.remote(outer).options(runtime_env={"env_vars": {"A": "1"}}).remote()))


@own_session
def the_job_s_variables_and_a_task_s(ray: Any) -> None:
    init(ray, env_vars={"A": "job", "B": "job"})
    look = ray.remote(environ)
    print(ray.get(look.remote("A", "B", "C")))
    print(ray.get(look.options(runtime_env={"env_vars": {"B": "task", "C": "task"}}).remote("A", "B", "C")))
    print(ray.get(look.options(runtime_env={}).remote("A", "B")))
    print("in the driver:", environ("A", "B"))
    ray.shutdown()


@case
def the_context_says_the_environment(ray: Any) -> None:
    def look() -> Any:
        context = ray.get_runtime_context()
        return dict(context.runtime_env), type(context.get_runtime_env_string()).__name__

    task = ray.remote(look)
    print(ray.get(task.options(runtime_env={"env_vars": {"A": "1"}}).remote()))
    print(ray.get(task.remote())[0])
    print(dict(ray.get_runtime_context().runtime_env))


@own_session
def the_context_says_what_was_merged(ray: Any) -> None:
    init(ray, env_vars={"A": "job", "B": "job"})

    def look() -> Any:
        return ray.get_runtime_context().runtime_env["env_vars"]

    print(dict(ray.get_runtime_context().runtime_env))
    print(sorted(ray.get(ray.remote(look).options(runtime_env={"env_vars": {"B": "task"}}).remote()).items()))
    ray.shutdown()


def folder(*files: tuple[str, str]) -> str:
    made = tempfile.mkdtemp()
    for name, text in files:
        path = pathlib.Path(made, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return made


def archive(*files: tuple[str, str]) -> str:
    path = os.path.join(tempfile.mkdtemp(), "code.zip")
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files:
            made.writestr(name, text)
    return path


def reader(ray: Any) -> Any:
    """Returns a task that reads a file. It is made here, so that workers do not need this module."""

    def read(name: str) -> str:
        with open(name) as file:
            return file.read()

    return ray.remote(read)


@own_session
def a_working_dir_of_the_job(ray: Any) -> None:
    init(ray, working_dir=folder(("data.txt", "text"), ("helper_here.py", "VALUE = 3"), ("deep/inner.txt", "inner")))

    def look() -> Any:
        import helper_here  # type: ignore[import-not-found]

        return helper_here.VALUE

    print(ray.get([reader(ray).remote("data.txt"), ray.remote(look).remote(), reader(ray).remote("deep/inner.txt")]))
    ray.shutdown()


@own_session
def modules_of_the_job(ray: Any) -> None:
    made = folder(("parcel/__init__.py", "from parcel.inner import VALUE\n"), ("parcel/inner.py", "VALUE = 5\n"))
    init(ray, py_modules=[os.path.join(made, "parcel")])

    def look() -> Any:
        import parcel  # type: ignore[import-not-found]

        return parcel.VALUE

    print(ray.get(ray.remote(look).remote()))
    ray.shutdown()


@own_session
def an_archive_as_working_dir(ray: Any) -> None:
    init(ray, working_dir=archive(("data.txt", "zipped"), ("top/inner.txt", "inner")))
    print(ray.get(reader(ray).remote("data.txt")), ray.get(reader(ray).remote("top/inner.txt")))
    ray.shutdown()


@own_session
def an_archive_with_one_folder(ray: Any) -> None:
    init(ray, working_dir=archive(("top/data.txt", "zipped")))
    attempt("below the folder", lambda: ray.get(reader(ray).remote("top/data.txt")))
    ray.shutdown()


@own_session
def a_downloaded_archive_loses_its_only_folder(ray: Any) -> None:
    init(ray, working_dir="file://" + archive(("top/data.txt", "zipped"), ("top/more.txt", "more")))
    print(ray.get(reader(ray).remote("data.txt")))
    ray.shutdown()


@own_session
def a_downloaded_archive_with_two_folders_stays(ray: Any) -> None:
    init(ray, working_dir="file://" + archive(("one/data.txt", "first"), ("two/data.txt", "second")))
    print(ray.get([reader(ray).remote(f"{name}/data.txt") for name in ("one", "two")]))
    ray.shutdown()


@own_session
def a_downloaded_module(ray: Any) -> None:
    uri = "file://" + archive(("top/parcel/__init__.py", "VALUE = 6\n"))
    init(ray, py_modules=[uri])

    def look() -> Any:
        import parcel

        return parcel.VALUE

    print(ray.get(ray.remote(look).remote()))
    ray.shutdown()


@case
def a_task_with_a_uri_of_its_own(ray: Any) -> None:
    uri = "file://" + archive(("top/data.txt", "of the task"))
    print(ray.get(reader(ray).options(runtime_env={"working_dir": uri}).remote("data.txt")))


@case
def a_uri_that_leads_nowhere(ray: Any) -> None:
    env = {"working_dir": "file:///no/such/archive.zip"}
    print("task:", error_of(lambda: ray.get(ray.remote(nothing).options(runtime_env=env).remote(), timeout=60)))

    class Thing:
        def call(self) -> int:
            return 1

    actor = ray.remote(Thing).options(runtime_env=env).remote()
    print("actor:", error_of(lambda: ray.get(actor.call.remote(), timeout=60)))


def _hooked() -> Any:
    return os.environ.get("SET_BY_THE_HOOK")


def _hook() -> None:
    os.environ["SET_BY_THE_HOOK"] = "yes"


@own_session
def a_hook_of_the_job(ray: Any) -> None:
    init(ray, worker_process_setup_hook=lambda: os.environ.update(SET_BY_THE_HOOK="yes"))

    class Thing:
        def look(self) -> Any:
            return os.environ.get("SET_BY_THE_HOOK")

    print(ray.get(ray.remote(lambda: os.environ.get("SET_BY_THE_HOOK")).remote()))
    print(ray.get(ray.remote(Thing).remote().look.remote()))
    print("in the driver:", _hooked())
    ray.shutdown()


@own_session
def a_hook_by_its_path(ray: Any) -> None:
    made = folder(("hooks_here.py", "import os\ndef begin():\n    os.environ['SET_BY_THE_HOOK'] = 'by path'\n"))
    init(ray, worker_process_setup_hook="hooks_here.begin", env_vars={"PYTHONPATH": made})
    print(ray.get(ray.remote(lambda: os.environ.get("SET_BY_THE_HOOK")).remote()))
    ray.shutdown()


@own_session
def another_interpreter(ray: Any) -> None:
    init(ray, py_executable=f"{sys.executable} -B")
    print(ray.get(ray.remote(lambda: (sys.flags.dont_write_bytecode, sys.executable)).remote()) == (1, sys.executable))
    ray.shutdown()


def wheel(name: str, version: str, *requires: str) -> str:
    """Makes a package that has one module, and returns its folder."""
    where = tempfile.mkdtemp()
    info = f"{name}-{version}.dist-info"
    lines = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        *(f"Requires-Dist: {one}\n" for one in requires),
    ]
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": "".join(lines),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: case\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(os.path.join(where, f"{name}-{version}-py3-none-any.whl"), "w") as made:
        for path, text in files.items():
            made.writestr(path, text)
    return where


def offline(folder: str, *packages: str, **more: Any) -> dict[str, Any]:
    options = ["--no-index", "--find-links", folder, "--disable-pip-version-check"]
    return {"pip": {"packages": list(packages), "pip_install_options": options, **more}}


@case
def a_package_that_only_a_task_has(ray: Any) -> None:
    env = offline(wheel("only_of_the_task", "1.5"), "only_of_the_task==1.5")

    def look() -> Any:
        import numpy
        import only_of_the_task  # type: ignore[import-not-found]

        where = pathlib.Path(only_of_the_task.__file__)
        return only_of_the_task.VERSION, where.is_relative_to(sys.prefix), int(numpy.array([1]).sum())

    task = ray.remote(look)
    print(ray.get(task.options(runtime_env=env).remote()))
    print("without:", error_of(lambda: ray.get(task.remote())))


@case
def a_package_that_cannot_be_had(ray: Any) -> None:
    env = offline(tempfile.mkdtemp(), "no_such_package==1")
    print("task:", error_of(lambda: ray.get(ray.remote(nothing).options(runtime_env=env).remote())))


@case
def a_package_of_a_parent_task(ray: Any) -> None:
    env = offline(wheel("of_the_parent", "2.5"), "of_the_parent==2.5")

    def inner() -> Any:
        import of_the_parent  # type: ignore[import-not-found]

        return of_the_parent.VERSION

    def outer() -> Any:
        more = {"env_vars": {"A": "1"}}
        return ray.get([ray.remote(inner).remote(), ray.remote(inner).options(runtime_env=more).remote()])

    print(ray.get(ray.remote(outer).options(runtime_env=env).remote()))


@case
def a_requirements_file(ray: Any) -> None:
    where = wheel("of_a_file", "3.5")
    path = os.path.join(where, "requirements.txt")
    with open(path, "w") as file:
        file.write(f"# a remark\n--no-index\n--find-links {where}\n\nof_a_file==3.5\n")

    def look() -> Any:
        import of_a_file  # type: ignore[import-not-found]

        return of_a_file.VERSION

    print(ray.get(ray.remote(look).options(runtime_env={"pip": path}).remote()))


@case
def the_context_says_packages_as_a_dictionary(ray: Any) -> None:
    env = offline(wheel("of_the_context", "1.0"), "of_the_context==1.0", "of_the_context==1.0")

    def look() -> Any:
        found = ray.get_runtime_context().runtime_env["pip"]
        return found["packages"], found["pip_check"]

    print(ray.get(ray.remote(look).options(runtime_env=env).remote()))


@own_session
def a_task_s_working_dir_in_place_of_the_job_s(ray: Any) -> None:
    first, second = (archive((f"top/{name}.txt", name), ("top/more.txt", name)) for name in ("job", "task"))
    init(ray, working_dir=f"file://{first}", env_vars={"A": "job"})

    def look() -> Any:
        return sorted(name for name in os.listdir() if name.endswith(".txt")), os.environ.get("A")

    print(ray.get(ray.remote(look).remote()))
    print(ray.get(ray.remote(look).options(runtime_env={"working_dir": f"file://{second}"}).remote()))
    ray.shutdown()


@own_session
def excluded_files(ray: Any) -> None:
    made = folder(("kept.txt", ""), ("left.log", ""), ("deep/left.log", ""), (".rayignore", "*.tmp"), ("left.tmp", ""))
    init(ray, working_dir=made, excludes=["*.log"])

    def look() -> Any:
        return os.path.exists("kept.txt")

    print(ray.get(ray.remote(look).remote()))
    ray.shutdown()


@own_session
def a_hook_that_fails(ray: Any) -> None:
    def hook() -> None:
        raise ValueError("the hook's")

    init(ray, worker_process_setup_hook=hook)
    print("task:", error_of(lambda: ray.get(ray.remote(nothing).remote(), timeout=100)))
    ray.shutdown()
