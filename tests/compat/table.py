"""Writes the README's figures of compatibility from the recorded cases and the table of names.

    table.py            puts them between the markers
    table.py --check    exit status 1 when the README holds others

Nothing is typed by hand, and tests hold what is counted: e2e/test_compat.py each case, e2e/test_ray_names.py each name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import golden
import names
from runner import theme

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- compat: begin -->", "<!-- compat: end -->"


def text() -> str:
    """Returns the figures."""
    cases, deliberate = golden.read(), golden.differences()
    table = names.load()
    themes = {theme(name) for name in cases}
    return (
        f"{len(cases)} small programs of {len(themes)} themes print under Eagle Ray what they print under Ray 2.60, "
        f"{len(deliberate)} of them with a difference that is on purpose. Libraries outside Ray use "
        f"{len(table['outside'])} names of Ray's Core, private ones too, and all of them are here (tests/compat)."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    old = README.read_text(encoding="utf-8")
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}\n{text()}\n{END}{after}"
    if options.check:
        if new != old:
            print("the README's figures of compatibility are not those of tests/compat: run tests/compat/table.py")
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
