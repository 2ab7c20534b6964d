"""The C files of the extension include and call each other one way only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from circles import circles

FOLDERS = [Path(__file__).parents[2] / "pybind" / name for name in ("hot", "kern")]
#: cgo makes this header during the build, of the functions that Go exports.
MADE = {"_cgo_export.h"}
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
_FUNCTION = re.compile(r"^(?!static\b|typedef\b|#)[A-Za-z_][\w ]*[ *](\w+)\([^;{]*\)\s*\{", re.M)
#: A declaration of a function that is defined elsewhere.
_PROTOTYPE = re.compile(r"^(?!return\b)[A-Za-z_][^;{}=]*\)\s*;", re.M)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def sources() -> dict[str, str]:
    """All C files and headers by name."""
    return {
        path.name: path.read_text() for folder in FOLDERS for path in folder.iterdir() if path.suffix in (".c", ".h")
    }


def room(name: str) -> str:
    """A C file and the header of its name belong together."""
    return name.rpartition(".")[0]


def included(source: str) -> set[str]:
    """The files of the extension that a source includes."""
    return set(_INCLUDE.findall(source)) - MADE


def graph(files: dict[str, str]) -> dict[str, set[str]]:
    """Who includes whom, and who calls functions of whom."""
    code = {name: _PROTOTYPE.sub("", _COMMENT.sub("", text)) for name, text in files.items()}
    defined: dict[str, set[str]] = {}
    for name, text in code.items():
        for function in _FUNCTION.findall(text):
            defined.setdefault(function, set()).add(room(name))
    edges: dict[str, set[str]] = {room(name): set() for name in files}
    for name, text in code.items():
        edges[room(name)] |= {room(other) for other in included(files[name])}
        for word in set(re.findall(r"\b(\w+)\(", text)):
            owners = defined.get(word, set())
            if len(owners) == 1:
                edges[room(name)] |= owners
    return {name: others - {name} for name, others in edges.items()}


def test_only_headers_are_included() -> None:
    files = sources()
    assert "py.h" in files and "kern_py.h" in files
    for name, text in files.items():
        for other in included(text):
            assert other.endswith(".h") and other in files, f"{name} includes {other}"


def test_no_c_files_include_or_call_each_other_in_a_circle() -> None:
    found = circles(graph(sources()))
    assert not found, "\n".join(f"{len(group)} files use each other: {', '.join(group)}" for group in found)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.c": '#include "b.h"', "b.h": "", "b.c": "void f(int x) {\n}\n"}, []),
        ({"a.h": '#include "b.h"', "b.h": '#include "a.h"'}, [["a", "b"]]),
        ({"a.c": "int one(void) {\n  two();\n}\n", "b.c": "void two(void) {\n  one();\n}\n"}, [["a", "b"]]),
        ({"a.c": "int one(void) {\n  // two()\n}\n", "b.c": "void two(void) {\n  one();\n}\n"}, []),
        ({"a.h": "int one(void);\n", "b.h": '#include "a.h"', "b.c": "int one(void) {\n}\n"}, []),
        ({"a.c": "int one(void) {\n  two();\n}\n", "b.c": "static void two(void) {\n  one();\n}\n"}, []),
    ],
)
def test_a_circle_of_c_files_is_found(files: dict[str, str], found: list[list[str]]) -> None:
    assert circles(graph(files)) == found
