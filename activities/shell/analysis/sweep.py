"""Sweep: what the rules withhold of the files that a command reads although none of its words names them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.files.resolve import is_directory, real
from activities.shell.analysis.expand import Expansion
from activities.shell.analysis.index import tracked
from activities.shell.analysis.program import GLOBAL_OPTIONS, Command, Word
from activities.shell.analysis.repository import index_of, root_of
from activities.shell.analysis.trees import TooLarge, Withheld, withheld_below, withheld_of
from activities.shell.analysis.work import Work
from activities.shell.programs.reading import Reading
from workflows.domain.permissions.breadth import names
from workflows.domain.permissions.rules import Action, Ruleset, evaluate

_NAMES: Final = 10  # of an index, that are looked at for one unit of work
_SEARCHING: Final = frozenset({"grep", "egrep", "fgrep", "rg"})  # their first operand is what they look for
_PATTERNS: Final = ("--regexp", "--file")  # options, which may be shortened
_FILE: Final = re.compile(r"[\w./~^@-]+:(?!/)[^:{}]+")  # a file of a commit, which is looked at by its name
_MAGIC: Final = re.compile(r"[:*?\[]")  # what may stand for more than one path to git


class Sweep:
    """Looks at each tree and each index once. Raises TooLarge and TooMuchWork."""

    def __init__(self, place: Place, expansion: Expansion, work: Work) -> None:
        self.place = place
        self.expansion = expansion
        self.work = work
        self.trees: dict[tuple[Path, bool, bool], Withheld] = {}
        self.indexes: dict[Path, Withheld] = {}

    def of(self, command: Command, directory: Path) -> Iterator[Withheld]:
        """What is withheld of the files that a command reads; a rule that names its program answers what others ask."""
        reading = command.reading
        if reading is None or not (reading.recursive or reading.tracked):
            return
        form = _form(command, directory)
        if form.name == "show" and form.words and all(_FILE.fullmatch(word.text or "") for word in form.words):
            return
        named = _is_named(command, form.name, self.place.rules)
        if self.place.hides or (self.place.withholds and not named):
            for found in self.looked_through(form, reading):
                yield replace(found, asked=()) if named else found

    def looked_through(self, form: "_Form", reading: Reading) -> Iterator[Withheld]:
        paths, certain = self.limits(form)
        if not reading.recursive:
            here = (
                [form.directory] if form.name == "grep" else []
            )  # git grep begins where it runs, git diff at the root
            yield self.within((paths or here) if certain else [], form.directory)
            return
        if not (paths and certain):
            paths = [*paths, form.directory if certain else form.root]
        for tree in dict.fromkeys(chain.from_iterable((path, real(path)) for path in paths)):
            if is_directory(tree):
                yield self.below(tree, reading)

    def limits(self, form: "_Form") -> tuple[list[Path], bool]:
        """The paths that a command is limited to, none where it is not; and whether there are no others."""
        certain = all(word.text is not None and not (form.git and _MAGIC.search(word.text)) for word in form.words)
        words = [word for word in form.words if word.text]
        paths = chain.from_iterable(self.expansion.paths(word, form.directory) for word in words)
        return [path for path in paths if os.path.lexists(path)], certain

    def below(self, tree: Path, reading: Reading) -> Withheld:
        key = (tree, reading.hidden, reading.follows)
        if key not in self.trees:
            self.trees[key] = withheld_below(tree, self.place, reading, self.work)
        return self.trees[key]

    def within(self, named: list[Path], directory: Path) -> Withheld:
        """What the rules withhold of the files that git tracks, at and below some paths; none: everywhere."""
        root = root_of(directory)
        if root is None:
            return Withheld()
        if root not in self.indexes:
            self.indexes[root] = self.tracked(root)
        paths = [*(Path(os.path.normpath(path)) for path in named), *map(real, named)]
        return self.indexes[root].within(paths) if paths else self.indexes[root]

    def tracked(self, root: Path) -> Withheld:
        try:
            found = tracked(index_of(root))
        except (OSError, ValueError) as error:
            raise TooLarge("more than can be looked through of the files that git tracks") from error
        self.work.spend(len(found) // _NAMES)
        return withheld_of((root / name for name in found), root, self.place)


@dataclass(frozen=True)
class _Form:
    """What a command looks for files with: its program or git's sub-command, and where that works; `words` may be
    paths."""

    name: str
    directory: Path
    words: list[Word]
    git: bool = False

    @property
    def root(self) -> Path:
        """Above all that it can reach by paths that are not certain."""
        return (self.git and root_of(self.directory)) or self.directory


def _form(command: Command, directory: Path) -> _Form:
    reading = command.reading
    operands = reading.operands if reading else []
    if command.name != "git":
        return _Form(command.name, directory, _paths(command, command.name, operands))
    words = list(command.words[1:])
    while words and words[0].known.startswith("-"):
        option = words.pop(0).known
        if option in GLOBAL_OPTIONS["git"] and words:
            value = words.pop(0).known
            directory = directory / value if option == "-C" else directory
    name = words[0].known if words else "git"
    return _Form(name, directory, _paths(command, name, operands), git=True)


def _paths(command: Command, name: str, operands: list[str]) -> list[Word]:
    """The operands that may be paths: all but what is looked for."""
    options = command.reading.options if command.reading else []
    named = name in _SEARCHING and not any(map(_gives_pattern, options))
    chosen = set(operands[1:] if named else operands)
    return [word for word in command.words[1:] if word.known in chosen]


def _gives_pattern(option: str) -> bool:
    """Whether an option of a searching program says what is looked for: then all operands are paths."""
    return option in ("-e", "-f") or (len(option) > 2 and any(each.startswith(option) for each in _PATTERNS))


def _is_named(command: Command, name: str, rules: Ruleset) -> bool:
    """Whether a command is allowed by a rule that names its program, or its sub-command of git: not by `*`."""
    decided = evaluate("bash", command.source, rules)
    return decided.action is Action.ALLOW and decided.rule is not None and names(decided.rule.pattern, name)
