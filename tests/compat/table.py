"""Writes the README's figures of compatibility, and the lists of docs/coming-from-ray.md, from what the tests hold.

    table.py            puts them between the markers
    table.py --check    exit status 1 when a page holds others

Nothing is typed by hand, and tests hold what is counted: e2e/test_compat.py each case, e2e/test_ray_names.py each name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import golden
import guide
import names
from runner import theme

README = Path(__file__).parents[2] / "README.md"


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


def filled(page: str, name: str, new: str) -> str:
    """Returns a page with a text between the markers of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page is to have {begin} and {end}, each once")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{new}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    wrong = 0
    for path, texts in ((README, {"compat": text()}), (guide.PAGE, guide.texts())):
        old = new = path.read_text(encoding="utf-8")
        for name, between in texts.items():
            new = filled(new, name, between)
        if not options.check:
            path.write_text(new, encoding="utf-8")
        elif new != old:
            print(f"{path.name} does not hold what tests/compat has: run tests/compat/table.py")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
