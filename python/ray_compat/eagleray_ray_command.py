"""The command ``ray`` of this distribution: the command ``eagleray`` in Ray's words."""

import sys


def main() -> None:
    """Runs the command; without the package eagleray it says so."""
    try:
        from eagleray._private.tools import ray_command
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "eagleray":
            raise
        sys.exit(
            "ray: this command belongs to the distribution eagleray-ray-compat, and the package eagleray that it needs "
            "is not installed: install eagleray, or run `pip uninstall eagleray-ray-compat` to be rid of it."
        )
    ray_command.main()
