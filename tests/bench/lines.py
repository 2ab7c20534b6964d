"""The table of a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verdicts import NAMES


def number(value: float | None) -> str:
    """Three digits: more would claim more than a median of a few rounds holds."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cell(summary: dict[str, Any], system: str) -> str:
    """Median and best of a system; whether it failed."""
    value = summary["median"].get(system)
    failed = "failed " if system in summary.get("failed", ()) else ""
    if value is None:
        return failed.strip() or "-"
    best = summary["best"].get(system)
    return f"{failed}{number(value)}" + (f" ({number(best)})" if best is not None else "")


def judgement(summary: dict[str, Any]) -> str:
    """The verdict with its aims."""
    word, aims = summary["verdict"], summary.get("aims", [])
    if word in ("met", "MISSED"):
        wanted = [aim["text"] if aim["met"] or word == "met" else f"NOT {aim['text']}" for aim in aims]
        return f"{word}: {', '.join(wanted)}"
    return word


def details(summary: dict[str, Any]) -> list[str]:
    """What is said below a line: who is better and why, and how much was done."""
    notes = summary.get("notes", {})
    said = list(summary.get("remarks", ()))
    for note in dict.fromkeys(notes.values()):
        whose = [NAMES.get(system, system) for system in notes if notes[system] == note]
        said.append(f"{', '.join(whose)}: {note}")
    return said


def table(summaries: dict[str, dict[str, Any]], systems: list[str]) -> Iterator[str]:
    """The lines: for each system median and best, how many times better than Ray, the bare machine, the verdict."""
    shown = [system for system in systems if any(system in one["median"] for one in summaries.values())]
    widths = {system: max(20, len(NAMES.get(system, system)) + 2) for system in shown}
    heads = "".join(f"{NAMES.get(system, system):>{widths[system]}}" for system in shown)
    yield f"{'figure, median (best)':66}{'unit':>10}{heads}{'x Ray':>8}{'bare':>10}{'of bare':>9}  verdict"
    for summary in summaries.values():
        cells = "".join(f"{cell(summary, system):>{widths[system]}}" for system in shown)
        gain = f"{summary['gain']:.1f}x" if "gain" in summary else ""
        beside = f"{summary['of_bare']:.2f}" if "of_bare" in summary else ""
        bare = number(summary["bare"]) if "bare" in summary else ""
        name = f"{summary['label']:66}{summary['unit']:>10}"
        yield f"{name}{cells}{gain:>8}{bare:>10}{beside:>9}  {judgement(summary)}"
        for said in details(summary):
            yield f"      {said}"


def heading(result: dict[str, Any]) -> str:
    """The machine and the versions."""
    machine = result["machine"]
    systems = ", ".join(
        f"{NAMES.get(name, name)} {found['version']} on Python {found['python']}"
        for name, found in result["systems"].items()
    )
    form = "long" if result.get("long") else "quick"
    return (
        f"{machine['cores']} cores {machine['cpu']}, {machine['memory_gib']:g} GiB, {machine['system']}; "
        f"{result['date']}, {result['rounds']} rounds in turn, {form} form; {systems}"
    )
