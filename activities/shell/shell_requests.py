"""A shell command's permission requests (opencode.md 3.1, 3.2; security.md 2)."""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from activities.files.affected_files import count_affected_files
from activities.files.workspace import Workspace
from activities.shell.analysis.analyse import ShellContext, analyse
from activities.shell.analysis.executed_scripts import executed_scripts
from activities.shell.analysis.path_access import PathAccess, find_special_files, path_access
from activities.shell.analysis.program import Command, ShellProgram
from activities.shell.analysis.runners import inner_commands
from activities.shell.environment import READ_ONLY_GIT, own_variables
from activities.turn_context import TurnContext
from workflows.domain.effects import Target
from workflows.domain.emoji import EMOJI_JOINER
from workflows.domain.errors import ToolError
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.arity import command_prefix
from workflows.domain.permissions.paths import (
    external_pattern,
    is_outside,
    is_protected,
    may_hold_secrets,
    ungrantable_patterns,
)
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.specificity import contains_word
from workflows.domain.value import Value

_MAX_IMPLICIT_READS: Final = 50  # files of one request
_MAX_BYTES: Final = 32 * 1024
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn"})  # what a person cannot see or tell apart
# An option or operand makes these do something quite different: only the exact call is saved.
_MANIFOLD_NAMES: Final = """find sed awk gawk mawk sort tree rg fd jq man less more tar zip unzip curl wget nc ncat
    socat scp rsync ftp sftp dd install patch ed vim vi emacs nano gdb crontab at kill pkill killall"""
_MANIFOLD: Final = frozenset(_MANIFOLD_NAMES.split())
_NAME: Final = re.compile(r"[A-Za-z0-9_./:@+=,-]+", re.ASCII)


class ShellRequests(Value):
    """The requests in order, with extra environment variables and the scripts to run."""

    requests: tuple[PermissionRequest, ...]
    environment: dict[str, str] = {}
    scripts: tuple[Target, ...] = ()


def shell_requests(command: str, workdir: Path, turn: TurnContext) -> ShellRequests:
    """`workdir` is absolute and resolved. Raises ToolError for an empty, too long or invalid text."""
    _check_text(command)
    workspace = turn.workspace
    shell = ShellContext(workdir, workspace.home, own_variables(workspace))
    program = analyse(command, shell)
    if not program.commands and not program.redirects and not program.opaque:
        raise ToolError("There is nothing to run: the command is empty or only a comment.")
    if invisible := _invisible_characters(command):
        program.guard(f"it contains invisible characters ({', '.join(invisible)})")
    found, run = path_access(program, turn), executed_scripts(program)
    if is_outside(workdir, workspace.directory, workspace.worktree):
        found.outside = {workdir: None, **found.outside}
    if special := found.special or find_special_files(command, program):
        program.guard(f"it reaches a device, process or socket ({', '.join(map(repr, special))})")
    return ShellRequests(
        requests=(
            *_external(command, found, workspace),
            *_bash(command, program, found),
            *_files(permission_keys.EDIT, found.writes, workspace),
            *_files(permission_keys.READ, found.reads, workspace),
            *_implicit_read_request([path for path in found.implicit_reads if path not in found.reads], workspace),
        ),
        environment=READ_ONLY_GIT if _reads_git(program) else {},
        scripts=run,
    )


def _reads_git(program: ShellProgram) -> bool:
    every = [each for command in program.commands for each in command.with_inner()]
    return any(each.name == "git" for each in every) and all(each.only_reads for each in every)


def _check_text(command: str) -> None:
    if not command.strip():
        raise ToolError("There is nothing to run: the command is empty.")
    if "\0" in command or any("\ud800" <= character <= "\udfff" for character in command):
        raise ToolError("The command holds a NUL or half a character (a lone surrogate), which no shell can run.")
    if (size := len(command.encode())) > _MAX_BYTES:
        raise ToolError(f"The command has {size} bytes, the most is {_MAX_BYTES}: write a script file and run that.")


def _invisible_characters(command: str) -> list[str]:
    strange = {
        each
        for each in re.sub(EMOJI_JOINER, "", command)
        if each not in " \t\n" and unicodedata.category(each) in _INVISIBLE
    }
    return sorted(f"U+{ord(each):04X}" for each in strange)


def _external(command: str, found: PathAccess, workspace: Workspace) -> Iterable[PermissionRequest]:
    if not found.outside:
        return
    patterns = tuple(map(external_pattern, found.outside))
    yield PermissionRequest(
        permission=permission_keys.EXTERNAL_DIRECTORY,
        patterns=patterns,
        always=patterns,
        withheld=ungrantable_patterns(found.outside, directory=workspace.directory, home=workspace.home),
        metadata={"command": command, "directories": [str(each) for each in found.outside], "patterns": [*patterns]},
    )


def _bash(command: str, program: ShellProgram, found: PathAccess) -> Iterable[PermissionRequest]:
    judged = [each for each in program.commands if not each.needs_no_rule]
    shown = (command,) if program.opaque else tuple(each.source for each in judged)
    if not shown:
        return
    whole = [form for each in program.commands for form in _spellings(each)]
    forms = [whole] if program.opaque else [_spellings(each) for each in judged]
    spellings = tuple(
        tuple(dict.fromkeys(form for form in of if form != text)) for text, of in zip(shown, forms, strict=True)
    )
    required_words = () if program.opaque else tuple(each.required_words for each in judged)
    reasons = [*program.opaque, *program.ask_reasons]
    yield PermissionRequest(
        permission=permission_keys.BASH,
        patterns=shown,
        spellings=spellings if any(spellings) else (),
        required_words=required_words if any(required_words) else (),
        always=() if program.opaque or found.reaches_root_or_home else always_patterns(program),
        metadata={"command": command},
        opaque=_opaque_reason(reasons),
        guarded=program.guarded,
        changes=not all(each.only_reads for each in judged),
    )


def _opaque_reason(reasons: list[str]) -> str | None:
    text = "; ".join(reasons)
    return f"{text[0].upper()}{text[1:]}, so it cannot be checked." if text else None


def _spellings(command: Command) -> list[str]:
    own = [command.source, command.canonical, *command.without_options]
    return own + [form for each in command.inner for form in _spellings(each)]


def _files(permission: str, paths: Iterable[Path], workspace: Workspace) -> Iterable[PermissionRequest]:
    plain: list[Path] = []
    for path in paths:
        if permission == permission_keys.EDIT and is_protected(path, workspace.home):
            yield _file(permission, [path], workspace, protect=True)
        elif permission == permission_keys.READ and may_hold_secrets(path):
            yield _file(permission, [path], workspace)
        else:
            plain.append(path)
    if plain:
        yield _file(permission, plain, workspace)


def _implicit_read_request(paths: list[Path], workspace: Workspace) -> Iterable[PermissionRequest]:
    if paths:
        request = _file(permission_keys.READ, paths[:_MAX_IMPLICIT_READS], workspace)
        yield request if len(paths) <= _MAX_IMPLICIT_READS else request.model_copy(update={"always": ()})


def _file(permission: str, paths: list[Path], workspace: Workspace, *, protect: bool = False) -> PermissionRequest:
    patterns = tuple(dict.fromkeys(map(workspace.relative, paths)))
    files = count_affected_files(paths) if permission == permission_keys.EDIT else None
    literal = tuple(pattern for pattern in patterns if not re.search(r"[*?\\]", pattern))
    return PermissionRequest(
        permission=permission,
        patterns=patterns,
        always=() if protect else literal,
        metadata={"filepath": ", ".join(patterns), **({"files": files} if files is not None else {})},
        guarded=protect,
    )


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
