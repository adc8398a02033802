"""From a command's text to what has to be permitted for it (opencode.md 3.1, 3.2; security.md 2)."""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from activities.files.extent import extent
from activities.files.place import Place
from activities.shell.analysis.always import always
from activities.shell.analysis.analyse import Shell, analyse
from activities.shell.analysis.program import Command, Program
from activities.shell.analysis.scripts import scripts
from activities.shell.analysis.special import special_names
from activities.shell.analysis.touched import Touched, touched
from activities.shell.environment import READING_GIT, own_variables
from workflows.domain.effects import Target
from workflows.domain.emoji import JOINER
from workflows.domain.errors import ToolError
from workflows.domain.permissions.paths import external_pattern, guarded, outside, protected, withheld
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.value import Value

_MOST_SWEPT: Final = 50  # files of one request
_MOST_BYTES: Final = 32 * 1024
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn"})  # what a person cannot see or tell apart


class ShellRequests(Value):
    """What a command needs permitted, in the order in which it is asked, what is set for it beside the usual, and
    which scripts it runs."""

    requests: tuple[PermissionRequest, ...]
    environment: dict[str, str] = {}
    scripts: tuple[Target, ...] = ()


def shell_requests(command: str, workdir: Path, place: Place) -> ShellRequests:
    """The requests of a command that would run in `workdir` (absolute and resolved); looks at files, changes nothing.

    Raises ToolError for a command that is refused before any question: empty, too long, or not a text.
    """
    _refuse(command)
    shell = Shell(workdir, place.home, own_variables(place))
    program = analyse(command, shell)
    if not program.commands and not program.redirects and not program.opaque:
        raise ToolError("There is nothing to run: the command is empty or only a comment.")
    if unseen := _unseen(command):
        program.guard(f"it contains invisible characters ({', '.join(unseen)})")
    found, run = touched(program, place), scripts(program)
    if outside(workdir, place.directory, place.worktree):
        found.outside = {workdir: None, **found.outside}
    if special := found.special or special_names(command, program):
        program.guard(f"it reaches a device, process or socket ({', '.join(map(repr, special))})")
    program.doubts += found.doubts
    return ShellRequests(
        requests=(
            *_external(command, found, place),
            *_bash(command, program, found),
            *_files("edit", found.writes, place),
            *_files("read", found.reads, place),
            *_swept([path for path in found.swept if path not in found.reads], place),
        ),
        environment=READING_GIT if _reads_git(program) else {},
        scripts=run,
    )


def _reads_git(program: Program) -> bool:
    """Whether all that is run only reads, and git is among it."""
    every = [each for command in program.commands for each in command.everything()]
    return any(each.name == "git" for each in every) and all(each.only_reads for each in every)


def _refuse(command: str) -> None:
    if not command.strip():
        raise ToolError("There is nothing to run: the command is empty.")
    if "\0" in command or any("\ud800" <= character <= "\udfff" for character in command):
        raise ToolError("The command holds a NUL or half a character (a lone surrogate), which no shell can run.")
    if (size := len(command.encode())) > _MOST_BYTES:
        raise ToolError(f"The command has {size} bytes, the most is {_MOST_BYTES}: write a script file and run that.")


def _unseen(command: str) -> list[str]:
    strange = {
        each for each in JOINER.sub("", command) if each not in " \t\n" and unicodedata.category(each) in _UNSEEN
    }
    return sorted(f"U+{ord(each):04X}" for each in strange)


def _external(command: str, found: Touched, place: Place) -> Iterable[PermissionRequest]:
    if not found.outside:
        return
    patterns = tuple(map(external_pattern, found.outside))
    yield PermissionRequest(
        permission="external_directory",
        patterns=patterns,
        always=patterns,
        withheld=withheld(found.outside, directory=place.directory, home=place.home),
        metadata={"command": command, "directories": [str(each) for each in found.outside], "patterns": [*patterns]},
    )


def _bash(command: str, program: Program, found: Touched) -> Iterable[PermissionRequest]:
    judged = [each for each in program.commands if not each.needs_no_rule]
    shown = (command,) if program.opaque else tuple(each.source for each in judged)
    if not shown:
        return
    whole = [form for each in program.commands for form in _spellings(each)]
    forms = [whole] if program.opaque else [_spellings(each) for each in judged]
    spellings = tuple(
        tuple(dict.fromkeys(form for form in of if form != text)) for text, of in zip(shown, forms, strict=True)
    )
    marks = () if program.opaque else tuple(each.marks for each in judged)
    reasons = [*program.opaque, *program.doubts]
    yield PermissionRequest(
        permission="bash",
        patterns=shown,
        spellings=spellings if any(spellings) else (),
        marks=marks if any(marks) else (),
        always=() if program.opaque or found.vast else always(program),
        metadata={"command": command},
        opaque=_unchecked(reasons),
        guarded=program.guarded,
        changes=not all(each.only_reads for each in judged),
    )


def _unchecked(reasons: list[str]) -> str | None:
    """The reasons for which a command is asked about, as one sentence."""
    said = "; ".join(reasons)
    return f"{said[0].upper()}{said[1:]}, so it cannot be checked." if said else None


def _spellings(command: Command) -> list[str]:
    """The forms in which rules may know a command: its text, its decoded words, what it runs in turn."""
    own = [command.source, command.canonical, *command.without_options]
    return own + [form for each in command.inner for form in _spellings(each)]


def _files(permission: str, paths: Iterable[Path], place: Place) -> Iterable[PermissionRequest]:
    """One request for ordinary files, and one for each that is protected or holds secrets."""
    plain: list[Path] = []
    for path in paths:
        if permission == "edit" and protected(path, place.home):
            yield _file(permission, [path], place, protect=True)
        elif permission == "read" and guarded(path):
            yield _file(permission, [path], place)
        else:
            plain.append(path)
    if plain:
        yield _file(permission, plain, place)


def _swept(paths: list[Path], place: Place) -> Iterable[PermissionRequest]:
    """One request for all files that are read without a name, with so many of them as people can look at."""
    if paths:
        request = _file("read", paths[:_MOST_SWEPT], place)
        yield request if len(paths) <= _MOST_SWEPT else request.model_copy(update={"always": ()})


def _file(permission: str, paths: list[Path], place: Place, *, protect: bool = False) -> PermissionRequest:
    patterns = tuple(dict.fromkeys(map(place.relative, paths)))
    files = extent(paths) if permission == "edit" else None
    literal = tuple(pattern for pattern in patterns if not re.search(r"[*?\\]", pattern))
    return PermissionRequest(
        permission=permission,
        patterns=patterns,
        always=() if protect else literal,
        metadata={"filepath": ", ".join(patterns), **({"files": files} if files is not None else {})},
        guarded=protect,
    )
