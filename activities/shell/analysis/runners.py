"""Programs that run other programs given in their arguments (security.md 2.3, 5)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from activities.shell.analysis.program import Command, Word, program_name
from workflows.domain.errors import ToolError


@dataclass(frozen=True)
class Wrapper:
    """How arguments lead to another command. `values`: options that take the next word; `flags`: other known options;
    `operands`: words between these and the command. `transparent`: rules for the inner command decide."""

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    operands: int = 0
    transparent: bool = False


@dataclass(frozen=True)
class InnerCommands:
    """Other commands, as words, and shell texts."""

    commands: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[str, ...] = ()
    transparent: bool = False


_MAX_WORDS: Final = 200  # of a program whose inner command may begin anywhere


def _wrapper(values: str = "", flags: str = "", operands: int = 0, *, transparent: bool = False) -> Wrapper:
    return Wrapper(frozenset(values.split()), frozenset(flags.split()), operands, transparent)


_WRAPPERS: Final[Mapping[str, Wrapper]] = {
    "timeout": _wrapper(
        "-k --kill-after -s --signal", "-v --verbose --foreground --preserve-status", 1, transparent=True
    ),
    "nice": _wrapper("-n --adjustment", transparent=True),
    "nohup": _wrapper(transparent=True),
    "stdbuf": _wrapper("-i -o -e --input --output --error", transparent=True),
    "time": _wrapper(flags="-p", transparent=True),
    "command": _wrapper(flags="-p", transparent=True),
    "builtin": _wrapper(),
    "coproc": _wrapper(),
    "exec": _wrapper("-a", "-c -l"),
    "env": _wrapper("-u --unset -C --chdir", "- -i --ignore-environment -0 --null -v"),
    "sudo": _wrapper("-u -g -h -p -C -D -r -t -T -U -R", "-n -E -H -k -K -S -A -b -i -s"),
    "doas": _wrapper("-u -C", "-n -s"),
    "setsid": _wrapper(flags="-w --wait -f --fork -c --ctty"),
    "chroot": _wrapper(operands=1),
    "flock": _wrapper("-w --timeout -E", "-s -x -e -n -u -o -F --verbose", 1),
    "strace": _wrapper("-e -o -p -s -u -E -P -a", "-f -ff -q -c -C -t -tt -T -y -i -v"),
    "ionice": _wrapper("-c -n", "-t"),
    "taskset": _wrapper(operands=1),
    "xargs": _wrapper("-I -n -P -L -d -a -E -s", "-0 -r -t -p -x --null --no-run-if-empty"),
    "parallel": _wrapper("-j -N -n -L -I --jobs"),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "unshare": _wrapper(),
    "nsenter": _wrapper(),
    "entr": _wrapper(),
}
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"})
_TEXT_RUNNERS: Final = frozenset({"eval", "ssh", "su", "script", "watch", "trap"})
_OPAQUE_RUNNERS: Final = frozenset({"source", "."})
_INLINE: Final[Mapping[str, re.Pattern[str]]] = {
    "python": re.compile(r"-[A-Za-z]*c.*"),
    "perl": re.compile(r"-[A-Za-z0-9]*[eEpnM].*"),
    "ruby": re.compile(r"-[A-Za-z]*[epn].*"),
    "node": re.compile(r"-[pe]+|--eval.*|--print.*|-r|--require.*|--import.*"),
    "php": re.compile(r"-[A-Za-z]*[rBRE].*"),
    "lua": re.compile(r"-e.*"),
}
_INFORMING: Final = frozenset({"--version", "-V", "-v", "--help", "-h"})
_CONTAINERS: Final = frozenset(
    {("docker", "run"), ("docker", "exec"), ("podman", "run"), ("podman", "exec"), ("kubectl", "exec")}
)
_FIND_ACTIONS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*", re.S)
_LOADER: Final = re.compile(r"(?:.*/)?ld(?:-linux.*|-musl.*)?\.so[.0-9]*")


def inner_commands(command: Command) -> InnerCommands | None:
    """What a `command` runs; None if it runs no other command."""
    name, words = command.name, command.words[1:]
    if name == "command" and any(word.text in ("-v", "-V") for word in words[:1]):
        return None
    if name in _WRAPPERS:
        return _unwrap(_WRAPPERS[name], words)
    if name in _SHELLS:
        return InnerCommands(texts=(*_given(words), *([command.stdin_text] if command.stdin_text else [])))
    if name in _TEXT_RUNNERS:
        return InnerCommands(
            commands=tuple(_possible_commands(words)), texts=(_joined(words), *_given(words), *_single(words))
        )
    if name == "find":
        return _find_actions(words)
    if name in _OPAQUE_RUNNERS or _LOADER.fullmatch(name):
        return InnerCommands(commands=tuple(_possible_commands(words)))
    if (name, words[0].text if words else None) in _CONTAINERS:
        return InnerCommands(commands=tuple(_possible_commands(words)))
    return InnerCommands() if _runs_inline_code(name, words) else None


def _unwrap(wrapper: Wrapper, words: tuple[Word, ...]) -> InnerCommands:
    rest = list(words)
    while rest and (rest[0].known.startswith("-") or _ASSIGNMENT.fullmatch(rest[0].known)):
        option = rest.pop(0).known
        if option in wrapper.values:
            del rest[:1]
        elif not _known(option, wrapper):
            return InnerCommands(commands=tuple(_possible_commands(words)), texts=tuple(_given(words)))
        if option == "--":
            break
    inner = tuple(rest[wrapper.operands :])
    return InnerCommands(
        (inner,) if inner else (), tuple(_given(inner)) if wrapper.operands else (), wrapper.transparent and bool(inner)
    )


def _known(option: str, wrapper: Wrapper) -> bool:
    name, attached, _ = option.partition("=")
    short = option[:2] in wrapper.values and not option.startswith("--")
    return (
        option in wrapper.flags
        or option == "--"
        or bool(attached and name in wrapper.values)
        or short
        or (bool(_ASSIGNMENT.fullmatch(option)) and not wrapper.transparent)
    )


def _possible_commands(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Every possible beginning of the inner command after unknown options."""
    if len(words) > _MAX_WORDS:
        raise ToolError(f"More than {_MAX_WORDS} words go to a program that runs others: write them into a script.")
    for at, word in enumerate(words):
        if not word.known.startswith("-") and not _ASSIGNMENT.fullmatch(word.known):
            yield words[at:]


def _given(words: tuple[Word, ...]) -> Iterator[str]:
    """Words after an option like `-c` or `-xc`."""
    for at, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[A-Za-z]*c|--command", word.known):
            rest = words[at + 1 :]
            yield from (each.script for each in rest if not each.known.startswith(("-", "+")))


def _single(words: tuple[Word, ...]) -> Iterator[str]:
    yield from (word.script for word in words if " " in word.script)


def _joined(words: tuple[Word, ...]) -> str:
    return " ".join(word.script for word in words)


def _find_actions(words: tuple[Word, ...]) -> InnerCommands | None:
    """The commands in `find … -exec … ;`."""
    starts = [at for at, word in enumerate(words) if word.text in _FIND_ACTIONS]
    if not starts:
        return None
    ends = [next((to for to in range(at, len(words)) if words[to].text in (";", "+")), len(words)) for at in starts]
    return InnerCommands(commands=tuple(words[at + 1 : to] for at, to in zip(starts, ends, strict=True) if to > at + 1))


def _runs_inline_code(name: str, words: tuple[Word, ...]) -> bool:
    """Whether it runs code from an argument or standard input."""
    language = re.sub(r"(?:js)?[0-9.]*$", "", program_name(name).rpartition("/")[2])
    if language not in _INLINE:
        return False
    if len(words) == 1 and words[0].text in _INFORMING:
        return False
    for word in words:
        if word.text is None or (word.text == "-m" and language == "python"):
            return False
        if not word.text.startswith("-") or word.text == "-":
            return word.text == "-"
        if _INLINE[language].fullmatch(word.text):
            return True
    return True
