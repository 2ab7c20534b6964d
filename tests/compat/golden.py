"""The recorded output of real Ray, and the list of deliberate differences.

`golden/THEME.txt` holds one section for each case: a line `== name`, then what the case printed.
`differences.json` holds, for each case in which Eagle Ray deliberately prints something else, the reason and the lines
that it prints instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runner import Result, theme

HERE = Path(__file__).parent
FOLDER = HERE / "golden"
DIFFERENCES = HERE / "differences.json"
MARK = "== "


@dataclass(frozen=True)
class Difference:
    """A case in which Eagle Ray means to differ from Ray."""

    reason: str
    output: str


def read() -> dict[str, str]:
    """The recorded output of every case."""
    recorded: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        for section in ("\n" + path.read_text(encoding="utf-8")).split("\n" + MARK)[1:]:
            title, _, output = section.partition("\n")
            recorded[f"{path.stem}.{title}"] = output if output.endswith("\n") or not output else output + "\n"
    return recorded


def write(results: Iterable[Result], known: list[str]) -> None:
    """Records results in the order of the known cases; those that did not run keep what was recorded."""
    recorded = read() | {result.name: result.text for result in results}
    FOLDER.mkdir(exist_ok=True)
    for stem in {theme(name) for name in known}:
        chosen = {name.partition(".")[2]: recorded[name] for name in known if theme(name) == stem and name in recorded}
        sections = [f"{MARK}{title}\n{text}" for title, text in chosen.items()]
        (FOLDER / f"{stem}.txt").write_text("".join(sections), encoding="utf-8")


def differences() -> dict[str, Difference]:
    """The deliberate differences, by case."""
    entries = json.loads(DIFFERENCES.read_text(encoding="utf-8"))
    return {
        name: Difference(entry["reason"], "".join(f"{line}\n" for line in entry["output"]))
        for name, entry in entries.items()
    }


def expected_of_ours() -> dict[str, str]:
    """What Eagle Ray must print for each case."""
    return read() | {name: difference.output for name, difference in differences().items()}
