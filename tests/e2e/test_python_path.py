"""Workers get PYTHONPATH, and other variables that the interpreter reads only when it starts, however they were set."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray._private.calls import python_path


@pytest.fixture
def folders(tmp_path: Path) -> Callable[..., list[str]]:
    """Makes folders. Each has a module of its own name, and one named ``everywhere`` that says where it was found."""

    def make(*names: str) -> list[str]:
        made = []
        for name in names:
            folder = tmp_path / name
            folder.mkdir()
            (folder / f"only_in_{name}.py").write_text("")
            (folder / "everywhere.py").write_text(f"WHERE = {name!r}\n")
            made.append(str(folder))
        return made

    return make


def path_without(name: str) -> dict[str, str]:
    return {key: text for key, text in os.environ.items() if key != name}


def test_set_by_the_program_before_init(script: Any, folders: Any) -> None:
    first, second, third = folders("first", "second", "third")
    done = script(
        f"""
        import os, subprocess, sys
        old = os.environ["PYTHONPATH"]
        os.environ["PYTHONPATH"] = os.pathsep.join([{second!r}, old])
        import eagleray as ray

        @ray.remote
        def look():
            import everywhere, only_in_first, only_in_second
            child = subprocess.run([sys.executable, "-c", "import everywhere; print(everywhere.WHERE)"],
                                   capture_output=True, text=True, check=True)
            return everywhere.WHERE, os.environ["PYTHONPATH"], child.stdout.strip()

        @ray.remote
        def third():
            import everywhere, only_in_third
            return everywhere.WHERE

        ray.init(address="local", num_cpus=1)
        assert ray.get(look.remote()) == ("second", os.environ["PYTHONPATH"], "second"), ray.get(look.remote())
        ray.shutdown()
        os.environ["PYTHONPATH"] = {third!r}
        ray.init(address="local", num_cpus=1)
        assert ray.get(third.remote()) == "third"
        ray.shutdown()
        del os.environ["PYTHONPATH"]
        ray.init(address="local", num_cpus=1)
        assert ray.get(ray.remote(lambda: os.environ.get("PYTHONPATH")).remote()) is None
        """,
        env={**os.environ, "PYTHONPATH": first},
    )
    assert done.returncode == 0


def test_set_where_there_was_none_and_relative_to_the_folder(script: Any, folders: Any, tmp_path: Path) -> None:
    folders("first")
    done = script(
        """
        import os
        os.environ["PYTHONPATH"] = "first"
        import eagleray as ray
        ray.init(address="local", num_cpus=1)

        @ray.remote
        def look():
            import only_in_first
            return only_in_first.__file__, os.environ["PYTHONPATH"]

        @ray.remote
        def nested():
            return ray.get(look.remote())

        expected = os.path.abspath("first/only_in_first.py"), "first"
        assert ray.get(look.remote()) == ray.get(nested.remote()) == expected
        """,
        env=path_without("PYTHONPATH"),
        cwd=tmp_path,
    )
    assert done.returncode == 0


@pytest.mark.parametrize("where", ["init", "task", "actor", "nested"])
def test_in_env_vars(script: Any, folders: Any, where: str) -> None:
    first, second = folders("first", "second")
    done = script(
        f"""
        import os, subprocess, sys
        import eagleray as ray
        import everywhere  # from the first folder, in the driver

        def look():
            import everywhere, only_in_second
            child = subprocess.run([sys.executable, "-c", "import everywhere; print(everywhere.WHERE)"],
                                   capture_output=True, text=True, check=True)
            try:
                import only_in_first  # which the driver has, and an interpreter with the new value has not
            except ModuleNotFoundError:
                return everywhere.WHERE, os.environ["PYTHONPATH"], child.stdout.strip()
            return only_in_first.__file__, sys.path, ""

        class Looker:
            def look(self):
                return look()

        environment = {{"env_vars": {{"PYTHONPATH": {second!r}}}}}
        where = {where!r}
        ray.init(address="local", num_cpus=2, runtime_env=environment if where == "init" else None)
        if where == "init":
            found = ray.get(ray.remote(look).remote())
        elif where == "task":
            found = ray.get(ray.remote(look).options(runtime_env=environment).remote())
        elif where == "actor":
            found = ray.get(ray.remote(Looker).options(runtime_env=environment).remote().look.remote())
        else:
            outer = ray.remote(lambda: ray.get(ray.remote(look).remote()))
            found = ray.get(outer.options(runtime_env=environment).remote())
        assert found == ("second", {second!r}, "second"), found
        if where != "init":
            plain = ray.get(ray.remote(lambda: (__import__("everywhere").WHERE, os.environ["PYTHONPATH"])).remote())
            assert plain == ("first", {first!r}), plain
        """,
        env={**os.environ, "PYTHONPATH": first},
    )
    assert done.returncode == 0


def test_working_dir_and_py_modules_come_before_it(script: Any, folders: Any, tmp_path: Path) -> None:
    first, work = folders("first", "work")
    (tmp_path / "work" / "beside").mkdir()
    (tmp_path / "work" / "beside" / "only_beside.py").write_text("")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "a_module.py").write_text("")
    done = script(
        f"""
        import os
        import eagleray as ray

        @ray.remote
        def look():
            import a_module, everywhere, only_beside, only_in_first
            return everywhere.WHERE, os.getcwd()

        # A relative folder is one of the working directory.
        environment = {{
            "working_dir": {work!r},
            "py_modules": [{str(tmp_path / "modules" / "a_module.py")!r}],
            "env_vars": {{"PYTHONPATH": os.pathsep.join([{first!r}, "beside"])}},
        }}
        ray.init(address="local", num_cpus=1)
        assert ray.get(look.options(runtime_env=environment).remote()) == ("work", {work!r})
        """,
    )
    assert done.returncode == 0


@pytest.mark.parametrize("where", ["init", "task", "job and task"])
def test_a_relative_folder_is_one_of_the_working_dir(script: Any, folders: Any, tmp_path: Path, where: str) -> None:
    """Set by the program before the session. What the driver's own folder has stays behind it."""
    folders("mods", "work")
    for folder, name in ((tmp_path / "work" / "mods", "work"), (tmp_path / "mods", "driver")):
        folder.mkdir(exist_ok=True)
        (folder / "in_both.py").write_text(f"WHERE = {name!r}\n")
        (folder / f"only_in_{name}_mods.py").write_text("")
    done = script(
        f"""
        import os
        os.environ["PYTHONPATH"] = "mods"
        import eagleray as ray

        @ray.remote
        def look():
            import in_both, only_in_work_mods, only_in_driver_mods
            return in_both.WHERE, os.environ["PYTHONPATH"]

        work, where = {{"working_dir": "work"}}, {where!r}
        ray.init(address="local", num_cpus=1, runtime_env=work if where != "task" else None)
        call = look.options(runtime_env={{"init": None, "task": work}}.get(where, {{"env_vars": {{"A": "1"}}}}))
        assert ray.get(call.remote()) == ("work", "mods"), ray.get(call.remote())
        """,
        env=path_without("PYTHONPATH"),
        cwd=tmp_path,
    )
    assert done.returncode == 0


def test_env_vars_may_refer_to_other_variables(script: Any, folders: Any) -> None:
    first, second = folders("first", "second")
    done = script(
        f"""
        import os
        import eagleray as ray

        @ray.remote
        def look():
            import everywhere, only_in_first, only_in_second
            return everywhere.WHERE, *(os.environ[name] for name in ("PYTHONPATH", "A", "B", "C"))

        variables = {{"A": "$HOME", "B": "${{A}}/b", "C": "[${{NO_SUCH_THING}}]"}}
        variables["PYTHONPATH"] = {second!r} + ":${{PYTHONPATH}}"
        ray.init(address="local", num_cpus=1, runtime_env={{"env_vars": variables}})
        home = os.environ["HOME"]
        found = ray.get(look.remote())
        assert found == ("second", {second + ":" + first!r}, home, home + "/b", "[]"), found
        assert ray.get_runtime_context().runtime_env["env_vars"] == variables
        """,
        env={**os.environ, "PYTHONPATH": first, "HOME": "/somewhere"},
    )
    assert done.returncode == 0


def test_drivers_of_one_cluster_have_their_own(script: Any, folders: Any) -> None:
    first, second = folders("first", "second")
    done = script(
        f"""
        import os, subprocess, sys
        import eagleray as ray
        context = ray.init(address="local", num_cpus=1)

        DRIVER = '''
        import os, sys
        os.environ["PYTHONPATH"] = sys.argv[2]
        import eagleray as ray
        ray.init(address=sys.argv[1])
        @ray.remote
        def look():
            import everywhere
            return everywhere.WHERE
        print(ray.get(look.remote()))
        '''.replace("\\n        ", "\\n")

        for folder, name in (({first!r}, "first"), ({second!r}, "second")):
            done = subprocess.run([sys.executable, "-c", DRIVER, context["session_dir"], folder],
                                  capture_output=True, text=True)
            assert done.stdout == name + "\\n", done.stdout + done.stderr
        """,
    )
    assert done.returncode == 0


def test_what_else_the_interpreter_reads_at_its_start(script: Any) -> None:
    """In the order in which a program can set them: for the session, then for one task."""
    done = script(
        """
        import os, sys
        os.environ.update(PYTHONHASHSEED="7", PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore::UserWarning")
        import eagleray as ray

        @ray.remote
        def look():
            import warnings
            ignored = any(entry[0] == "ignore" and entry[2] is UserWarning for entry in warnings.filters)
            return hash("a text"), sys.flags.hash_randomization, sys.dont_write_bytecode, ignored, sys.flags.optimize

        ray.init(address="local", num_cpus=1)
        here = ray.get([look.remote(), look.remote()])
        assert here[0] == here[1] and here[0][2:] == (True, True, 0), here
        other = {"env_vars": {"PYTHONHASHSEED": "8", "PYTHONOPTIMIZE": "1", "PYTHONDONTWRITEBYTECODE": ""}}
        there = ray.get(look.options(runtime_env=other).remote())
        assert there[0] != here[0][0] and there[2:] == (False, True, 1), there
        """,
        env=path_without("PYTHONDONTWRITEBYTECODE"),
    )
    assert done.returncode == 0


LIBRARY = os.path.dirname(os.__file__)


@pytest.mark.parametrize(
    ("path", "now", "before", "expected"),
    [
        (["/s", LIBRARY, "/site"], ["/a", "/b"], [], ["/s", "/a", "/b", LIBRARY, "/site"]),
        (["/s", "/a", LIBRARY], ["/a"], ["/a"], ["/s", "/a", LIBRARY]),
        (["/s", "/a", LIBRARY], ["/b"], ["/a"], ["/s", "/b", "/a", LIBRARY]),
        (["/s", "/a", "/b", LIBRARY], ["/b", "/a"], ["/a", "/b"], ["/s", "/b", "/a", LIBRARY]),
        (["/x", "/s", "/a", LIBRARY], ["/x", "/c"], ["/a"], ["/x", "/s", "/c", "/a", LIBRARY]),
        (["/s", LIBRARY, "/late"], ["/late"], [], ["/s", "/late", LIBRARY]),
        (["/s", "/a", LIBRARY], [], ["/a"], ["/s", "/a", LIBRARY]),
        (["/s"], ["/a"], [], ["/s", "/a"]),
    ],
)
def test_where_changed_folders_go(path: list[str], now: list[str], before: list[str], expected: list[str]) -> None:
    assert python_path.follow(path, now, before) == expected


def test_replaced_folders_are_gone_but_for_those_of_the_program_and_of_the_interpreter() -> None:
    path = ["/s", "/a", "/own", LIBRARY, "/late"]
    assert python_path.replace(path, ["/b"], ["/a", "/own"], ["/own"]) == ["/s", "/b", "/own", LIBRARY, "/late"]
    assert python_path.replace(path, ["/a", "/c"], ["/a"], []) == ["/s", "/a", "/c", *path[2:]]
    assert python_path.replace(path, ["/b"], ["/s", "/a"], []) == ["/s", "/b", *path[2:]]
    assert python_path.replace(path, [], ["/a"], []) == ["/s", *path[2:]]
    assert python_path.replace(path, ["/a"], ["/a"], []) == path


def test_new_value_may_name_the_old_one(script: Any, folders: Any) -> None:
    first, second = folders("first", "second")
    done = script(
        f"""
        import sys
        import eagleray as ray

        @ray.remote
        def look():
            import everywhere, only_in_first
            return everywhere.WHERE, [name for name in ({first!r}, {second!r}) if name in sys.path]

        ray.init(address="local", num_cpus=1)
        both = {{"env_vars": {{"PYTHONPATH": {second!r} + ":${{PYTHONPATH}}"}}}}
        found = ray.get(look.options(runtime_env=both).remote())
        assert found == ("second", [{first!r}, {second!r}]), found
        """,
        env={**os.environ, "PYTHONPATH": first},
    )
    assert done.returncode == 0


def test_folders_that_a_value_names() -> None:
    assert python_path.folders("/a:b::/a/../c", "/here") == ["/a", "/here/b", "/here", "/c"]
    assert python_path.folders(None, "/here") == python_path.folders("", "/here") == []


def test_the_value_at_the_start_is_the_interpreters(script: Any) -> None:
    source = """
    import os
    os.environ["PYTHONPATH"] = "/elsewhere"
    from eagleray._private.calls import python_path
    print(python_path.at_start())
    """
    assert script(source, env={**os.environ, "PYTHONPATH": "/given"}).stdout == "/given\n"
    assert script(source, env=path_without("PYTHONPATH")).stdout == "None\n"


def test_references_to_variables() -> None:
    variables = {"HOME": "/h", "lower": "l"}
    for text, expected in {
        "plain": "plain",
        "$HOME/x:${HOME}": "/h/x:/h",
        "${lower}": "l",
        "${ABSENT}": "",
        "$ABSENT ${absent} 5$ ${": "$ABSENT ${absent} 5$ ${",
    }.items():
        assert python_path.expand(text, variables) == expected
