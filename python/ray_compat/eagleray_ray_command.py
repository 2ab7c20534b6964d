"""The command ``ray`` of this distribution: the command ``eagleray`` under Ray's name."""

import sys


def main() -> None:
    """Runs the command; without the package eagleray it says so."""
    try:
        from eagleray._private import cli
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "eagleray":
            raise
        sys.exit(
            "ray: this command belongs to the distribution eagleray-ray-compat, and the package eagleray that it needs "
            "is not installed: install eagleray, or run `pip uninstall eagleray-ray-compat` to be rid of it."
        )
    cli.main()
