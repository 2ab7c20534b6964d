"""The modules of the package import each other one way only: see "Python" in docs/architecture.md.

Imports inside functions count like those at the top of a file: a late import hides a circle and does not remove it.
Imports for type checkers (``if TYPE_CHECKING``) count too: whoever reads one module of a circle has to read them all.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from pathlib import Path

import eagleray
from circles import circles, reach
from eagleray import autoscaler, kernels, util

PACKAGE = Path(eagleray.__file__).parent


PRIVATE = "eagleray._private"
#: The packages below ``_private`` from the bottom up.
FLOORS = ("leaves", "values", "environments", "calls", "session", "worker", "jobs", "tools", "outside", "shims")
#: Modules that stand beside the packages and belong to one of them: pickles, Ray and the shell know these names.
STANDS_OUTSIDE = {
    **dict.fromkeys(("refs", "generators", "functions", "task_error"), "values"),
    **{"internal_api": "session", "ray_perf": "tools", "cli": "tools"},
    **{"utils": "outside", "test_utils": "outside"},
    **{"log_monitor": "session", "profiling": "calls", "ray_constants": "session", "runtime_env": "session"},
    **{"object_ref_generator": "values", "conftest_utils": "session", "state_api_test_utils": "outside"},
}


def floor(name: str) -> int:
    """The floor of a private module, counted from the bottom."""
    first = name.removeprefix(PRIVATE).removeprefix(".").partition(".")[0]
    return FLOORS.index(first if first in FLOORS else STANDS_OUTSIDE.get(first, "leaves"))


def modules() -> dict[str, Path]:
    """All modules of the package by name."""
    found = {}
    for path in PACKAGE.glob("**/*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


class When(enum.Enum):
    """When an import statement takes effect."""

    LOADING = "while the module is loaded"
    LATE = "when a function runs"
    TYPES = "for type checkers only"


def statements(tree: ast.AST, when: When = When.LOADING) -> Iterator[tuple[ast.Import | ast.ImportFrom, When]]:
    """The import statements, however deep inside functions, and when each takes effect."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from statements(ast.Module(node.body, []), When.TYPES)
            node = ast.Module(node.orelse, [])
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, when
        inside = when is When.LOADING and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from statements(node, When.LATE if inside else when)


def imports_of(source: str, known: dict[str, Path], when: tuple[When, ...] = tuple(When)) -> set[str]:
    """The modules among ``known`` that a source imports. The package uses no relative imports.

    Args:
        source: The source.
        known: The modules that count.
        when: Which imports count.
    """
    found = set()
    for node, effect in statements(ast.parse(source)):
        if effect not in when:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        assert node.level == 0, f"line {node.lineno}: a relative import"
        base = node.module or ""
        for alias in node.names:
            name = f"{base}.{alias.name}"
            found.add(name if name in known else base)
    return found & known.keys()


def graph() -> dict[str, set[str]]:
    """Who imports whom, with the names that the packages load by their tables."""
    known = modules()
    edges = {name: imports_of(path.read_text(), known) - {name} for name, path in known.items()}
    for package in (eagleray, autoscaler, kernels, util):
        name = package.__name__
        edges[name] |= {f"{name}.{where}" for where in (*package._NAMES.values(), *getattr(package, "_MODULES", ()))}
    return edges


def test_no_modules_import_each_other_in_a_circle_even_in_functions_or_for_type_checkers() -> None:
    found = circles(graph())
    assert not found, "\n".join(f"{len(group)} modules import each other: {', '.join(group)}" for group in found)


def test_packages_of_private_modules_import_only_those_below_them() -> None:
    edges = graph()
    upward = [
        f"{name} imports {other}"
        for name in edges
        for other in edges[name]
        if name.startswith(PRIVATE) and other.startswith(PRIVATE) and floor(other) > floor(name)
    ]
    assert not upward, "\n".join(upward)


def useless_late_imports(sources: dict[str, str], known: dict[str, Path]) -> list[str]:
    """The imports in functions of modules that the imports at the top of the files have loaded anyway."""
    top = {name: imports_of(source, known, (When.LOADING,)) - {name} for name, source in sources.items()}
    return [
        f"{name} imports {other} in a function, and has loaded it before: import it at the top"
        for name, source in sources.items()
        for other in sorted(imports_of(source, known, (When.LATE,)) & reach(top, name))
    ]


def test_imports_in_functions_load_something_that_is_not_loaded_yet() -> None:
    known = modules()
    found = useless_late_imports({name: path.read_text() for name, path in known.items()}, known)
    assert not found, "\n".join(found)


def test_a_late_import_of_a_loaded_module_is_found() -> None:
    sources = {
        "a": "import b\ndef f():\n    import c, d\n",
        "b": "import c\ndef g():\n    import d\n",
        "c": "",
        "d": "",
    }
    known = dict.fromkeys(sources, Path())
    assert useless_late_imports(sources, known) == [
        "a imports c in a function, and has loaded it before: import it at the top"
    ]


def test_imports_of_each_kind_and_a_circle_of_three_are_found() -> None:
    known = {"a": Path(), "b": Path(), "b.c": Path()}
    late = "if TYPE_CHECKING:\n    import a\ndef f():\n    if x:\n        from b import c, d\n"
    assert imports_of(late, known, (When.LATE,)) == {"b.c", "b"}
    assert imports_of(late, known, (When.TYPES,)) == {"a"}
    assert imports_of(late, known) == {"a", "b", "b.c"}
    either = "if TYPE_CHECKING:\n    import b\nelse:\n    import a\n"
    assert imports_of(either, known, (When.LOADING,)) == {"a"}
    assert imports_of(either, known, (When.TYPES,)) == {"b"}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
