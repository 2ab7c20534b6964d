"""What documents say of the tree: promises name tests that exist, and variables are those that the sources read."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("python", "core", "cmd", "kernels", "pybind", "raftstate")
#: A row's tests: a file of Python's with names in it, names in the file before, a package of Go's, names in it.
PYTHON = r"[\w/.-]+\.py(?:::\w+)*|(?<!\w)(?:::\w+)+"
GO = r"[\w/]+(?=: (?:Test|Fuzz|testdata))|\b(?:Test|Fuzz)\w+\*?|testdata/[\w/{},-]+\.txt"


@functools.cache
def names_in(path: Path) -> set[str]:
    found = ast.walk(ast.parse(path.read_text()))
    return {one.name for one in found if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}


@functools.cache
def functions_in(package: Path) -> set[str]:
    return {name for path in package.glob("*_test.go") for name in re.findall(r"(?m)^func (\w+)\(", path.read_text())}


def rows(document: str) -> Iterator[tuple[int, str]]:
    """The last cells of a document's tables, with the lines' numbers."""
    for number, line in enumerate((ROOT / "docs" / document).read_text().splitlines(), 1):
        if line.startswith("|"):
            yield number, line.split("|")[-2]


def test_each_promise_names_tests_that_exist() -> None:
    file, package, wrong, seen = Path(), Path(), [], 0
    for document, number, cell in ((one, *row) for one in ("guarantees.md", "threat-model.md") for row in rows(one)):
        for token in re.findall(f"{PYTHON}|{GO}", cell):
            seen += 1
            if "::" in token or token.endswith(".py"):
                path, *names = token.split("::")
                if path:
                    file = next((at for at in (ROOT / path, ROOT / "tests" / path) if at.exists()), Path())
                right = file.is_file() and set(names) <= names_in(file)
            elif token.startswith("testdata/"):
                every = re.fullmatch(r"(.*)\{(.*)\}(.*)", token)
                right = all(
                    (package / one).is_file()
                    for one in ([every[1] + name + every[3] for name in every[2].split(",")] if every else [token])
                )
            elif token.startswith(("Test", "Fuzz")):
                pattern = re.escape(token).replace(r"\*", r"\w*")
                right = any(re.fullmatch(pattern, name) for name in functions_in(package))
            else:
                package = ROOT / token
                right = package.is_dir()
            if not right:
                wrong.append(f"{document}, line {number}: {token}")
    assert not wrong
    assert seen > 500


def read_by_sources() -> set[str]:
    files = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".go", ".c")]
    text = (ROOT / "setup.py").read_text()
    for path in files:
        if not path.name.endswith("_test.go") and "fakecuda" not in path.parts:
            text += path.read_text()
    upper = re.findall(r"\b((?:EAGLERAY|RAY)_[A-Z][A-Z_]*[A-Z])\b(?!_|\.h)", text)
    lower = re.findall(r"\b[sS]et(?:ting)?\(\"([a-z_]+)\"|(?:Var|name) *= \"([a-z]+_[a-z_]+)\"", text)
    whole = re.findall(r"\bRAY_([a-z]+_[a-z_]+)\"", text)
    return {*upper, *(f"RAY_{one or other}" for one, other in lower), *(f"RAY_{one}" for one in whole)}


def test_each_variable_of_the_environment_is_explained() -> None:
    text = (ROOT / "docs" / "environment.md").read_text()
    explained = set(re.findall(r"`((?:EAGLERAY|RAY)_\w+)`", text)) - {"EAGLERAY_", "RAY_"}
    assert explained ^ read_by_sources() == set()


#: How a file of each kind defines a function of this name.
DEFINITIONS = {
    ".go": r"(?m)^func (?:\(\w+ \*?\w+(?:\[[\w, ]+\])?\) )?{name}\(",
    ".py": r"(?m)^\s*(?:async )?(?:def|class) {name}\b",
    ".c": r"\b{name}\(",
}


TOP = ("cmd", "core", "docs", "kernels", "pybind", "python", "raftstate", "tests")


def place_of(path: str) -> Path:
    """The file that a document names: below core/internal when no folder of the project begins the name."""
    top, _, rest = path.partition("/")
    if top == "_private":
        return ROOT / "python" / "eagleray" / path
    return ROOT / path if rest and top in TOP else ROOT / "core" / "internal" / path


def test_each_function_file_and_type_that_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`([\w/.-]+\.(?:go|py|c)):\s+(\w+)`", text)
    wrong = []
    for path, name in named:
        file = place_of(path)
        if not file.is_file() or not re.search(DEFINITIONS[file.suffix].format(name=name), file.read_text()):
            wrong.append(f"{path}: {name}")
    for path in re.findall(r"`((?:core|cmd|kernels|pybind|python|raftstate|tests|_private)/[\w/.-]*\w)`", text):
        if not place_of(path).exists():
            wrong.append(path)
    for package, names in re.findall(r"`([a-z]+)\.([A-Za-z_.]+)`", text[text.index("\n## Glossary") :]):
        files = [path for path in (ROOT / "core").glob(f"**/{package}/*.go") if not path.name.endswith("_test.go")]
        if files and not any(re.search(rf"\b{names.split('.')[-1]}\b", path.read_text()) for path in files):
            wrong.append(f"glossary: {package}.{names}")
    assert not wrong
    assert len(named) > 60 and text.count("\n| ") > 80


def test_each_file_that_a_comment_or_a_document_names_exists() -> None:
    named = re.compile(rf"(?<![\w/.-])((?:{'|'.join(TOP)})/[\w/.-]+\.(?:go|py|c|h|md|cu|sh))\b")
    files = [
        path for top in TOP for path in (ROOT / top).rglob("*") if path.suffix in (".go", ".py", ".c", ".h", ".md")
    ]
    wrong, seen = [], 0
    for path in [*files, ROOT / "README.md"]:
        for name in named.findall(path.read_text(errors="replace")) if path.is_file() else ():
            seen += 1
            if not (ROOT / name).exists():
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong, "\n".join(wrong)
    assert seen > 150


def test_each_folder_of_the_tree_exists_and_each_package_is_in_it() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    lines = re.findall(r"(?m)^((?:core|cmd|kernels|pybind|python|raftstate|tests|examples)[\w/.-]*)/ ", text)
    lines += [f"core/internal/{name}" for name in re.findall(r"(?m)^  (\w+)/ ", text)]
    assert [line for line in lines if not (ROOT / line).is_dir()] == []
    files = [*ROOT.glob("core/*/*.go"), *ROOT.glob("core/internal/*/*.go")]
    assert {str(path.parent.relative_to(ROOT)) for path in files} <= set(lines)
