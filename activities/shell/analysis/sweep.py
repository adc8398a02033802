"""Sweep: what the rules withhold of the files that a command reads although none of its words names them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.files.resolve import is_directory
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
        named = _is_named(command, form.name, self.place.rules)
        if self.place.hides or (self.place.withholds and not named):
            for found in self.looked_through(form, reading):
                yield replace(found, asked=()) if named else found

    def looked_through(self, form: "_Form", reading: Reading) -> Iterator[Withheld]:
        limits = self.limits(form, reading)
        if reading.recursive:
            yield from (self.below(tree, reading) for tree in filter(is_directory, limits or [form.directory]))
        else:
            yield self.within(limits or ([form.directory] if form.name == "grep" else []), form.directory)

    def limits(self, form: "_Form", reading: Reading) -> list[Path]:
        """The paths that a command is limited to; none where it is not, or where that is not certain."""
        words = [word for word in form.words if word.text]
        if reading.tracked and any(_MAGIC.search(word.known) for word in words):
            return []
        paths = chain.from_iterable(self.expansion.paths(word, form.directory) for word in words)
        return [path for path in paths if os.path.lexists(path)]

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
        paths = [Path(os.path.normpath(path)) for path in named]
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


def _form(command: Command, directory: Path) -> _Form:
    words = list(command.words[1:])
    if command.name == "git":
        while words and words[0].known.startswith("-"):
            option = words.pop(0).known
            if option in GLOBAL_OPTIONS["git"] and words:
                value = words.pop(0).known
                directory = directory / value if option == "-C" else directory
    name = command.name if command.name != "git" or not words else words.pop(0).known
    divided = next((at for at, word in enumerate(words) if word.text == "--"), None)
    if command.name == "git" and divided is not None:
        return _Form(name, directory, words[divided + 1 :])
    operands = [word for word in words if not word.outline.startswith("-")]
    return _Form(name, directory, operands[1:] if name in _SEARCHING else operands)


def _is_named(command: Command, name: str, rules: Ruleset) -> bool:
    """Whether a command is allowed by a rule that names its program, or its sub-command of git: not by `*`."""
    decided = evaluate("bash", command.source, rules)
    return decided.action is Action.ALLOW and decided.rule is not None and names(decided.rule.pattern, name)
