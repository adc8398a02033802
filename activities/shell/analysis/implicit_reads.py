"""Files that rules withhold and a command reads although no word names them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from activities.files.real_paths import is_directory, real_path
from activities.shell.analysis.budget import WorkBudget
from activities.shell.analysis.directory_trees import WithheldFiles, withheld_among, withheld_in_tree
from activities.shell.analysis.expand import WildcardExpander
from activities.shell.analysis.program import GLOBAL_OPTIONS, Command, Word
from activities.shell.analysis.repository import find_repository, tracked_names
from activities.shell.programs.parsed_arguments import ParsedArguments
from activities.turn_context import TurnContext
from workflows.domain.errors import TreeTooLarge
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.rules import Action, evaluate
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.permissions.specificity import contains_word

_NAMES: Final = 10  # of an index, checked for one unit of work
_SEARCHING: Final = frozenset({"grep", "egrep", "fgrep", "rg"})  # the first operand is the search pattern
_PATTERNS: Final = ("--regexp", "--file")  # options, perhaps abbreviated
_FILE: Final = re.compile(r"[\w./~^@-]+:(?!/)[^:{}]+")  # a file of a commit, judged by name
_MAGIC: Final = re.compile(r"[:*?\[]")  # git may read it as several paths


class ImplicitReadFinder:
    """Reads each tree and index once. Raises TreeTooLarge and WorkBudgetExceeded."""

    def __init__(self, turn: TurnContext, expander: WildcardExpander, budget: WorkBudget) -> None:
        self.turn = turn
        self.expander = expander
        self.budget = budget
        self.trees: dict[tuple[Path, bool, bool], WithheldFiles] = {}
        self.indexes: dict[Path, WithheldFiles] = {}

    def withheld_reads(self, command: Command, directory: Path) -> Iterator[WithheldFiles]:
        """The withheld files that a command reads. A rule that names the command's program replaces the questions of
        others."""
        parsed_arguments = command.parsed_arguments
        if parsed_arguments is None or not (parsed_arguments.recursive or parsed_arguments.tracked):
            return
        form = _form(command, directory)
        if form.name == "show" and form.words and all(_FILE.fullmatch(word.text or "") for word in form.words):
            return
        named = _is_named(command, form.name, self.turn.rules)
        if self.turn.denies_any_read or (self.turn.restricts_any_read and not named):
            for found in self.search_paths(form, parsed_arguments):
                yield replace(found, asked=()) if named else found

    def search_paths(self, form: "_Search", parsed_arguments: ParsedArguments) -> Iterator[WithheldFiles]:
        paths, certain = self.limits(form)
        if not parsed_arguments.recursive:
            # git grep begins in its directory, git diff at the root
            here = [form.directory] if form.name == "grep" else []
            yield self.within((paths or here) if certain else [], form.directory)
            return
        if not (paths and certain):
            paths = [*paths, form.directory if certain else form.root]
        for tree in dict.fromkeys(chain.from_iterable((path, real_path(path)) for path in paths)):
            if is_directory(tree):
                yield self.below(tree, parsed_arguments)

    def limits(self, form: "_Search") -> tuple[list[Path], bool]:
        """The paths that limit a command (none: no limit), and whether they are certain."""
        certain = all(word.text is not None and not (form.git and _MAGIC.search(word.text)) for word in form.words)
        words = [word for word in form.words if word.text]
        paths = chain.from_iterable(self.expander.paths(word, form.directory) for word in words)
        return [path for path in paths if os.path.lexists(path)], certain

    def below(self, tree: Path, parsed_arguments: ParsedArguments) -> WithheldFiles:
        key = (tree, parsed_arguments.hidden, parsed_arguments.follows)
        if key not in self.trees:
            self.trees[key] = withheld_in_tree(tree, self.turn, parsed_arguments, self.budget)
        return self.trees[key]

    def within(self, named: list[Path], directory: Path) -> WithheldFiles:
        """The files that git tracks at or below `named`; without paths, all."""
        root = find_repository(directory)
        if root is None:
            return WithheldFiles()
        if root not in self.indexes:
            self.indexes[root] = self.tracked(root)
        paths = [*(Path(os.path.normpath(path)) for path in named), *map(real_path, named)]
        return self.indexes[root].within(paths) if paths else self.indexes[root]

    def tracked(self, root: Path) -> WithheldFiles:
        try:
            found = tracked_names(root)
        except (OSError, ValueError) as error:
            raise TreeTooLarge("more than can be looked through of the files that git tracks") from error
        self.budget.spend(len(found) // _NAMES)
        return withheld_among((root / name for name in found), root, self.turn)


@dataclass(frozen=True)
class _Search:
    name: str
    directory: Path
    words: list[Word]
    git: bool = False

    @property
    def root(self) -> Path:
        """A directory that contains all that uncertain paths can reach."""
        return (self.git and find_repository(self.directory)) or self.directory


def _form(command: Command, directory: Path) -> _Search:
    parsed_arguments = command.parsed_arguments
    operands = parsed_arguments.operands if parsed_arguments else []
    if command.name != "git":
        return _Search(command.name, directory, _paths(command, command.name, operands))
    words = list(command.words[1:])
    while words and words[0].known.startswith("-"):
        option = words.pop(0).known
        if option in GLOBAL_OPTIONS["git"] and words:
            value = words.pop(0).known
            directory = directory / value if option == "-C" else directory
    name = words[0].known if words else "git"
    return _Search(name, directory, _paths(command, name, operands), git=True)


def _paths(command: Command, name: str, operands: list[str]) -> list[Word]:
    options = command.parsed_arguments.options if command.parsed_arguments else []
    named = name in _SEARCHING and not any(map(_gives_pattern, options))
    chosen = set(operands[1:] if named else operands)
    return [word for word in command.words[1:] if word.known in chosen]


def _gives_pattern(option: str) -> bool:
    """Whether an option gives the pattern, so that all operands are paths."""
    return option in ("-e", "-f") or (len(option) > 2 and any(each.startswith(option) for each in _PATTERNS))


def _is_named(command: Command, name: str, rules: Rulesets) -> bool:
    """Whether a rule names the program or git's sub-command itself, not by `*`."""
    decided = [evaluate(permission_keys.BASH, command.source, each.rules) for each in rules.sets]
    return bool(decided) and all(
        each.action is Action.ALLOW and each.rule is not None and contains_word(each.rule.pattern, name)
        for each in decided
    )
