"""The site of the documentation: its navigation has every page, its reference every public name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import eagleray
import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = [
    "eagleray",
    *(
        found.name
        for found in pkgutil.walk_packages(eagleray.__path__, "eagleray.")
        if not any(part.startswith("_") for part in found.name.split("."))
    ),
]


def _reference() -> Any:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "site" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _reference()


def test_navigation_has_every_page_once() -> None:
    listed = re.findall(r"(?m)^ +- ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_every_public_module_has_a_page_or_is_said_to_be_elsewhere() -> None:
    modules, elsewhere = set(reference.MODULES), set(reference.ELSEWHERE)
    assert modules & elsewhere == set()
    assert modules | elsewhere == set(PUBLIC)
    assert len(modules) == len(reference.MODULES) >= 35


@pytest.mark.parametrize("name", reference.MODULES)
def test_page_of_a_module_has_its_names(name: str) -> None:
    page = reference.page(name)
    listed = re.findall(r"(?m)^(?:      heading: |## `)(\w+)", page)
    module = importlib.import_module(name)
    names = reference.names(module)
    assert names and listed == names
    assert set(getattr(module, "__all__", names)) == set(names)


def members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in reference.names(module):
        value = getattr(module, name)
        if not getattr(value, "__module__", "").startswith("eagleray"):
            continue
        if inspect.isroutine(value) or inspect.isclass(value):
            yield f"{module.__name__}.{name}", value
        if inspect.isclass(value):
            for attribute, member in vars(value).items():
                plain = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
                if inspect.isfunction(plain) and not attribute.startswith("_"):
                    yield f"{module.__name__}.{name}.{attribute}", getattr(value, attribute)


def test_every_public_name_has_a_docstring() -> None:
    found = [one for name in PUBLIC for one in members(importlib.import_module(name))]
    assert [name for name, value in found if not inspect.getdoc(value)] == []
    assert len(found) > 600


def test_links_of_pages_to_other_files_exist() -> None:
    wrong, seen = [], 0
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        text = re.sub(r"(?s)^```.*?^```", "", path.read_text(), flags=re.MULTILINE)
        text = re.sub(r"`[^`\n]*`", "", text)
        for link in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)\s]*)?\)", text):
            seen += 1
            if not (path.parent / link).exists():
                wrong.append(f"{path.name}: {link}")
    assert wrong == []
    assert seen > 100
