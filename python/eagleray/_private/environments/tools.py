"""Running tools, and the error that tells users why a folder could not be made."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

#: How much of what a tool has written is part of an error, in characters: the end says what was wrong.
_MOST_OUTPUT = 6000


_CREDENTIALS = re.compile(r"(://)[^/?#\s]*@")


def public(text: str) -> str:
    """Returns a text without the names and passwords in URLs: errors and logs are seen by more people than these."""
    return _CREDENTIALS.sub(r"\1****@", text)


class MakingError(Exception):
    """The folder cannot be made; the text is for the user."""


def run(command: Sequence[str], cwd: str, what: str, env: Mapping[str, str] | None = None) -> str:
    """Runs a tool and returns what it has written. What it writes is also in this program's log.

    Raises:
        MakingError: the tool has failed; the text has what it has written.
    """
    shown_command = public(" ".join(command))
    print("$", shown_command, flush=True)
    try:
        tool = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as problem:
        raise MakingError(f"{what}: {command[0]} cannot be started: {problem}") from None
    assert tool.stdout is not None
    written = bytearray()
    for line in tool.stdout:
        sys.stdout.buffer.write(public(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        written += line
        del written[: -4 * _MOST_OUTPUT]
    text = written.decode("utf-8", "replace")
    if tool.wait() != 0:
        shown = public(text.strip())[-_MOST_OUTPUT:] or "nothing"
        raise MakingError(f"{what} failed: `{shown_command}` ended with status {tool.returncode} and wrote:\n{shown}")
    return text
