"""Lists of docs/coming-from-ray.md: the differences of docs/rationale.md and of recorded cases, and what is missing."""

from __future__ import annotations

import re
from pathlib import Path

import golden
from eagleray._private import missing

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coming-from-ray.md"
SECTION = "## On purpose different from Ray\n"


def differences() -> str:
    """Returns the section of the rationale, with its themes as headings."""
    _, found, rest = (ROOT / "docs" / "rationale.md").read_text(encoding="utf-8").partition(SECTION)
    if not found:
        raise ValueError(f"docs/rationale.md has no section {SECTION.strip()!r}")
    section = rest.partition("\n## ")[0]
    first = section.index("\n\n", section.index("differences.json")) if "differences.json" in section else 0
    themes = re.sub(r"(?m)^([A-Z][^\n:.|]*):$", r"### \1", section[first:].strip())
    return re.sub(r"(?m)^(\w[\w ]*): (?=\[)", r"### \1\n\nSee ", themes)


def cases() -> str:
    """Returns a table of the cases whose output differs from Ray's."""
    lines = ["| case | difference |", "|---|---|"]
    for name, difference in golden.differences().items():
        theme, _, case = name.partition(".")
        words = f"{theme}: {case}".replace("_", " ")
        lines.append(f"| {words} | {difference.reason.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def without() -> str:
    """Returns a table of the parts of Ray that are not there; parts with the same answer share a line."""
    answers: dict[tuple[str, str], list[str]] = {}
    for part, answer in sorted(missing._PARTS.items()):
        answers.setdefault(answer, []).append(f"`ray.{part}`")
    lines = ["| not there | what it is | instead |", "|---|---|---|"]
    lines += [f"| {', '.join(parts)} | {what} | {instead} |" for (what, instead), parts in answers.items()]
    return "\n".join(lines)


def texts() -> dict[str, str]:
    """Returns what stands between the markers of the page."""
    return {"differences": differences(), "cases": cases(), "missing": without()}
