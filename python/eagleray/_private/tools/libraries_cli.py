"""The command ``eagleray ray-libs``: installs the files of Ray's own libraries, shows, checks and removes them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from eagleray._private.libraries import cache, install, releases
from eagleray._private.tools.terminal import Parser

_ABOUT = """\
Ray Data, Tune, Train and Ray's other libraries are Python files of the package ray. They run on Eagle Ray unchanged.
Eagle Ray does not contain them: `install` downloads Ray's wheel with pip, checks it, and keeps its Python files.
"""


def main(args: Sequence[str]) -> int:
    """Runs ``eagleray ray-libs`` with these words and returns its exit status."""
    given = parser().parse_args(args)
    try:
        return int(given.run(given))
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        print("\neagleray ray-libs: interrupted; nothing was changed", file=sys.stderr)
        return 130
    except (install.InstallError, OSError) as problem:
        print(f"eagleray ray-libs {given.command}: {problem}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """Returns the parser of these commands."""
    made = Parser(prog="eagleray ray-libs", description=_ABOUT)
    commands = made.add_subparsers(dest="command", required=True, parser_class=Parser)
    add = commands.add_parser("install", help="download Ray's wheel, or take it from a file, and keep its Python files")
    _add_version(add)
    add.add_argument("--from", metavar="FILE", dest="file", help="Ray's wheel, where there is no network")
    add.set_defaults(run=_install)
    shown = commands.add_parser("list", help="show which versions are installed, and where")
    shown.set_defaults(run=_list)
    checked = commands.add_parser("verify", help="check that the installed files are those of Ray's wheel")
    _add_version(checked)
    checked.set_defaults(run=_verify)
    gone = commands.add_parser("remove", help="remove the installed files")
    _add_version(gone)
    gone.set_defaults(run=_remove)
    return made


def _add_version(command: argparse.ArgumentParser) -> None:
    known = list(releases.WHEELS)
    command.add_argument(
        "--version", choices=known, default=releases.USED, help=f"the version of Ray: {', '.join(known)}"
    )


def _install(given: argparse.Namespace) -> int:
    install.install(given.version, given.file, lambda text: print(text, flush=True))
    return 0


def _list(given: argparse.Namespace) -> int:
    found = cache.installed()
    for version in found:
        print(f"{version}  {cache.place(version)}")
    if not found:
        print(f"nothing is installed in {cache.folder()}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    if not cache.is_whole(cache.place(given.version)):
        print(f"Ray {given.version} is not installed in {cache.folder()}", file=sys.stderr)
        return 1
    found = cache.problems(given.version)
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        print(f"Run `eagleray ray-libs remove` and `{install.COMMAND}`.", file=sys.stderr)
        return 1
    print(f"all files of Ray {given.version} are as they should be")
    return 0


def _remove(given: argparse.Namespace) -> int:
    if not cache.remove(given.version):
        print(f"Ray {given.version} is not installed in {cache.folder()}")
    return 0
