"""The files of a tree that rules ask about or deny."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.files.real_paths import is_link, real_path
from activities.shell.analysis.budget import WorkBudget
from activities.shell.programs.parsed_arguments import ParsedArguments
from activities.turn_context import TurnContext
from workflows.domain.errors import TreeTooLarge

MAX_ENTRIES: Final = 50_000  # of a tree; a larger one is asked about
_ENTRIES: Final = 10  # compared with rules for one unit of work


@dataclass(frozen=True)
class WithheldFiles:
    """Files that a rule asks about or denies."""

    asked: tuple[Path, ...] = ()
    denied: tuple[Path, ...] = ()

    def within(self, paths: list[Path]) -> "WithheldFiles":
        return WithheldFiles(
            *(tuple(each for each in found if _is_within(each, paths)) for found in (self.asked, self.denied))
        )


def withheld_in_tree(
    tree: Path, turn: TurnContext, parsed_arguments: ParsedArguments, budget: WorkBudget
) -> WithheldFiles:
    """The withheld files of a tree, and the tree itself if a rule asks before reading it. Raises TreeTooLarge."""
    found = withheld_among(_entries(tree, parsed_arguments, budget), tree, turn)
    return WithheldFiles((tree, *found.asked), found.denied) if turn.asks_before_read(tree) else found


def withheld_among(paths: Iterable[Path], tree: Path, turn: TurnContext) -> WithheldFiles:
    shown = turn.search_filter(tree)
    withheld = [path for path in paths if turn.may_restrict(path) and not shown(path)]
    denied = tuple(path for path in withheld if not turn.may_read(path))
    return WithheldFiles(tuple(path for path in withheld if path not in set(denied)), denied)


def _is_within(path: Path, paths: list[Path]) -> bool:
    return any(path.is_relative_to(each) for each in paths)


def _entries(tree: Path, parsed_arguments: ParsedArguments, budget: WorkBudget) -> Iterator[Path]:
    """The entries of a tree; with `follows`, also the targets of links. MAX_ENTRIES ends circles."""
    count = 0
    for folder, folders, files in os.walk(tree, followlinks=parsed_arguments.follows):
        if not parsed_arguments.hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        count += len(folders) + len(files)
        if count > MAX_ENTRIES:
            raise TreeTooLarge(f"more files below {str(tree)!r} than can be looked through")
        budget.spend(1 + (len(folders) + len(files)) // _ENTRIES)
        for name in (*folders, *files):
            if parsed_arguments.hidden or not name.startswith("."):
                path = Path(folder, name)
                yield path
                if parsed_arguments.follows and is_link(path):
                    yield real_path(path)
