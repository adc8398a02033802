"""What an "always" may save of a text: each plain command by itself, never what wraps or redirects it."""

import re
from typing import Final

from activities.shell.analysis.program import Command, Program
from activities.shell.analysis.runners import run_by
from workflows.domain.permissions.arity import prefix
from workflows.domain.permissions.breadth import names

# Programs that can do quite different things by an option or operand: only exactly this call is saved.
_MANIFOLD_NAMES: Final = """find sed awk gawk mawk sort tree rg fd jq man less more tar zip unzip curl wget nc ncat
    socat scp rsync ftp sftp dd install patch ed vim vi emacs nano gdb crontab at kill pkill killall"""
_MANIFOLD: Final = frozenset(_MANIFOLD_NAMES.split())
_NAME: Final = re.compile(r"[A-Za-z0-9_./:@+=,-]+", re.ASCII)


def always(program: Program) -> tuple[str, ...]:
    """The patterns of all commands, in order; nothing when a part of the text is of a kind that is never saved."""
    commands = [command for command in program.commands if not command.needs_no_rule]
    if any(redirect.writes and redirect.target.text != "/dev/null" for redirect, _ in program.redirects):
        return ()
    if any(run_by(command) is not None or command.without_options for command in commands):
        return ()
    return tuple(dict.fromkeys(pattern for command in commands for pattern in _pattern(command)))


def _pattern(command: Command) -> tuple[str, ...]:
    words = prefix([word.text for word in command.words if word.text is not None])
    if not all(_NAME.fullmatch(word) for word in words):
        return ()
    pattern = f"{' '.join(words)} *"
    named = all(names(pattern, mark) for mark in command.marks)
    if command.name in _MANIFOLD or words[1:2] == ("-m",) or not named:
        exactly = command.source == command.canonical and not re.search(r"[*?\\]", command.source)
        return (command.source,) if exactly else ()
    return (pattern,)
