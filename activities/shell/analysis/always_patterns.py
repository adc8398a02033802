"""What an "always" may save: plain commands, never a wrapper or a redirection."""

import re
from typing import Final

from activities.shell.analysis.program import Command, ShellProgram
from activities.shell.analysis.runners import inner_commands
from workflows.domain.permissions.arity import command_prefix
from workflows.domain.permissions.specificity import contains_word

# An option or operand makes these do something quite different: only the exact call is saved.
_MANIFOLD_NAMES: Final = """find sed awk gawk mawk sort tree rg fd jq man less more tar zip unzip curl wget nc ncat
    socat scp rsync ftp sftp dd install patch ed vim vi emacs nano gdb crontab at kill pkill killall"""
_MANIFOLD: Final = frozenset(_MANIFOLD_NAMES.split())
_NAME: Final = re.compile(r"[A-Za-z0-9_./:@+=,-]+", re.ASCII)


def always_patterns(program: ShellProgram) -> tuple[str, ...]:
    """The patterns in order; none when a part of the text must never be saved."""
    commands = [command for command in program.commands if not command.needs_no_rule]
    if any(redirect.writes and redirect.target.text != "/dev/null" for redirect, _ in program.redirects):
        return ()
    if any(inner_commands(command) is not None or command.without_options for command in commands):
        return ()
    return tuple(dict.fromkeys(pattern for command in commands for pattern in _pattern(command)))


def _pattern(command: Command) -> tuple[str, ...]:
    words = command_prefix([word.text for word in command.words if word.text is not None])
    if not all(_NAME.fullmatch(word) for word in words):
        return ()
    pattern = f"{' '.join(words)} *"
    named = all(contains_word(pattern, mark) for mark in command.required_words)
    if command.name in _MANIFOLD or words[1:2] == ("-m",) or not named:
        exactly = command.source == command.canonical and not re.search(r"[*?\\]", command.source)
        return (command.source,) if exactly else ()
    return (pattern,)
