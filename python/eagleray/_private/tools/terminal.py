"""What the commands write: colours on a terminal only, errors in one line."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NoReturn, TextIO

from eagleray._private import suggestions

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


class Failure(Exception):
    """Ends a command.

    Args:
        text: What was wrong and what to do.
        status: The exit status: 2 for a wrong command line, else 1.
    """

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and name the flag that was probably meant. No flag can be shortened."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options["allow_abbrev"] = False
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        """Ends the program with status 2."""
        head, _, unknown = message.partition("unrecognized arguments: ")
        if not head and unknown.startswith("-"):
            name = unknown.split()[0].partition("=")[0]
            message += suggestions.suggestion(name, sorted(flags(self)))
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def flags(parser: argparse.ArgumentParser) -> set[str]:
    """Returns the flags of a parser and of its subcommands."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= flags(inner)
    return found


def add_log_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that all of Ray's commands have."""
    parser.add_argument("--log-style", choices=["auto", "record", "pretty"], default="auto", help=argparse.SUPPRESS)
    parser.add_argument(
        "--log-color", choices=["auto", "true", "false"], default="auto", help="colours: on a terminal (auto), or not"
    )
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more")


class Colours:
    """Colours texts if they are shown on a terminal.

    Args:
        when: "auto", "true" or "false".
        out: Where the texts go.
    """

    def __init__(self, when: str = "auto", out: TextIO | None = None) -> None:
        shown = sys.stdout if out is None else out
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        terminal = shown is not None and shown.isatty()
        self._on = when == "true" or (when == "auto" and terminal and not plain)

    def __call__(self, text: str, *names: str) -> str:
        """Returns the text in these colours."""
        if not self._on:
            return text
        return f"\033[{';'.join(_CODES[name] for name in names)}m{text}\033[0m"


def positive(text: str) -> int:
    """Reads a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number
