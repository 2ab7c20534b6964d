"""The project uses the standard terms of its field: words that it once had for itself alone do not come back."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "cmd", "kernels", "pybind", "raftstate", "python", "tests", "docs", "examples")
KINDS = {".go", ".py", ".c", ".h", ".md", ".txt"}
#: A private word → the term of the field that stands in its place.
TERMS = {
    "heir": "successor",
    "probate": "validate",
    "sheaf": "ref batch",
    "doze": "coalesce",
    "amid": "during, in the middle of",
    "parting": "flush on exit",
    "broom": "orphans",
    "epitaph": "stderr tail",
    "captive": "lineage bytes",
    "hopeless": "infeasible",
    "unbegun": "replace",
    "doubted": "unverified",
    "limbo": "unqueued",
    "tally": "answer, count",
}
#: Where the old words are told, beside the new ones.
TELLS_OF_THEM = {"docs/rooms.md", "docs/worklist.md", "tests/e2e/test_private_words.py"}
#: Parts of names and words: fooBar, FooBar, foo_bar, foo bar, HTTPServer.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def parts_of(text: str) -> set[str]:
    """The words of a text in lower case, with the parts of names; of a plural also the singular."""
    parts = {part.lower() for part in _PART.findall(text)}
    return parts | {part.removesuffix("s") for part in parts} | {part.removesuffix("es") for part in parts}


def test_private_words_do_not_come_back() -> None:
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix not in KINDS or not path.is_file() or name in TELLS_OF_THEM:
                continue
            words = parts_of(path.read_text(errors="replace")) | parts_of(path.name)
            found += [f"{name}: '{word}', say: {TERMS[word]}" for word in sorted(TERMS.keys() & words)]
    assert not found, "\n".join(found)


def test_parts_of_names_are_found() -> None:
    assert parts_of("TestHeir_Runs their_heirs HTTPServer dozes") >= {"heir", "runs", "their", "http", "server", "doze"}
    assert "heir" not in parts_of("their")
