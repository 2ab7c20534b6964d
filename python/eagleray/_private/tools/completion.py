"""The command ``eagleray completion``: a script that completes commands and flags in a shell."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

from eagleray._private.tools import actions_cli, job_cli, libraries_cli, logs_cli, state_cli
from eagleray._private.tools.terminal import flags

_SHELLS = ("bash", "zsh", "fish")
_HELP = """usage: eagleray completion SHELL

Writes a script for bash, zsh or fish that completes commands and flags. To use it:
  bash   source <(eagleray completion bash)        in ~/.bashrc
  zsh    source <(eagleray completion zsh)         in ~/.zshrc
  fish   eagleray completion fish | source         in ~/.config/fish/config.fish
"""


def main(args: Sequence[str], binary: str, more: str) -> int:
    """Writes the script and returns the exit status.

    Args:
        args: The words of the command line.
        binary: The program that has the other commands.
        more: The help of the commands that this package has.
    """
    if list(args) in (["-h"], ["--help"]):
        print(_HELP, end="")
        return 0
    if len(args) != 1 or args[0] not in _SHELLS:
        given = f"{' '.join(args)!r} is none" if args else "none is given"
        print(f"eagleray completion: name a shell, {', '.join(_SHELLS)}: {given}", file=sys.stderr)
        return 2
    words = _words(binary, more)
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args[0]](words))
    return 0


def _words(binary: str, help_of_more: str) -> dict[tuple[str, ...], list[str]]:
    """Returns what may follow each beginning of a command line."""
    found: dict[tuple[str, ...], list[str]] = {}
    text = _said(binary, "--help") + help_of_more
    commands = sorted(set(re.findall(r"(?m)^  ([a-z][a-z-]+)(?: |$)", text)))
    found[()] = commands
    for parser, before in (
        (state_cli.parser(), ()),
        (actions_cli.parser(), ()),
        (job_cli.parser(), ("job",)),
        (libraries_cli.parser(), ("ray-libs",)),
        (logs_cli.parser(), ("logs",)),
    ):
        for action in parser._actions:
            for name, inner in (getattr(action, "choices", None) or {}).items():
                more = [str(choice) for one in inner._actions if not one.option_strings for choice in one.choices or ()]
                found[(*before, name)] = sorted(more) + _sorted(flags(inner))
        if before:
            found[before] = sorted(key[-1] for key in found if key[:-1] == before)
    found["completion",] = list(_SHELLS)
    for name in commands:
        if (name,) not in found:
            found[name,] = _sorted(set(re.findall(r"(?m)^ +(--[a-z][a-z-]+)", _said(binary, name, "--help"))))
    return found


def _said(*words: str) -> str:
    try:
        return subprocess.run(list(words), capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _sorted(names: set[str]) -> list[str]:
    return sorted(name for name in names if name.startswith("--"))


_BASH = """_eagleray() {
  local words="" current="${COMP_WORDS[COMP_CWORD]}"
  local one="${COMP_WORDS[1]}" two="${COMP_WORDS[2]}"
  [ "$COMP_CWORD" -le 1 ] && one="" two=""
  [ "$COMP_CWORD" -le 2 ] && two=""
  case "$one $two" in
%s
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ ${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _eagleray eagleray"""


def _bash(words: dict[tuple[str, ...], list[str]]) -> str:
    cases = []
    for before, after in sorted(words.items(), key=lambda item: -len(item[0])):  # the longest beginning counts
        pattern = '" "' if not before else f'"{before[0]} "*' if len(before) == 1 else f'"{" ".join(before)}"'
        cases.append(f'    {pattern}) words="{" ".join(after)}" ;;')
    return _BASH % "\n".join(cases)


def _zsh(words: dict[tuple[str, ...], list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(words)


def _fish(words: dict[tuple[str, ...], list[str]]) -> str:
    lines = ["complete -c eagleray -f"]
    for before, after in sorted(words.items()):
        condition = "__fish_use_subcommand"
        if before:
            condition = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in before)
        plain = [word for word in after if not word.startswith("--")]
        if plain:
            lines.append(f"complete -c eagleray -n '{condition}' -a '{' '.join(plain)}'")
        lines += [f"complete -c eagleray -n '{condition}' -l {word[2:]}" for word in after if word.startswith("--")]
    return "\n".join(lines)
