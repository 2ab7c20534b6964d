"""The command ``eagleray get-auth-token``."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence

from eagleray._private.jobs import transport
from eagleray._private.session import node
from eagleray.exceptions import AuthenticationError


def main(args: Sequence[str]) -> int:
    """Prints the cluster's token as this user has it, without a line's end, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="eagleray get-auth-token",
        description="Print the cluster's token. It is read where programs of this user look for it: "
        "EAGLERAY_TOKEN_FILE names its file, RAY_AUTH_TOKEN is the token, RAY_AUTH_TOKEN_PATH names its file; else the "
        "file that `eagleray start --head` writes, else ~/.ray/auth_token.",
    )
    parser.add_argument(
        "--generate", action="store_true", help="write a new one, which `eagleray start --head` takes, if there is none"
    )
    options = parser.parse_args(args)
    try:
        found = transport.token()
        if not found and options.generate:
            found = _generated(os.path.join(node.base_dir(), "token"))
    except (AuthenticationError, OSError) as error:
        print(f"eagleray: get-auth-token: {error}", file=sys.stderr)
        return 1
    if not found:
        print(
            "eagleray: get-auth-token: this user has no token yet: `eagleray start --head` writes one, and so does "
            "`eagleray get-auth-token --generate`",
            file=sys.stderr,
        )
        return 1
    sys.stdout.write(found)
    return 0


def _generated(path: str) -> str:
    text = secrets.token_hex(32)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    print(f"eagleray: get-auth-token: a new token is in {path}", file=sys.stderr)
    return text
