"""How `holdfast trust` shows a project's configuration."""

from collections.abc import Iterator
from typing import Any, Final

from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_exact, find_foreign_letters
from worker.cli.render.formatting import format_past, pluralize
from worker.cli.render.wrap import wrap_text
from worker.cli.trust_listing import TrustListing
from workflows.domain.config.trust_items import TrustChange, TrustLeaf

_MARKS: Final = {"added": "+", "changed": "~", "removed": "-"}
_COLOURS: Final = {"added": "green", "changed": "yellow", "removed": "red"}


def render_listing(listing: TrustListing, columns: int | None, *, whole: bool = False) -> Iterator[Row]:
    """How it differs from what was accepted; all of it if nothing was, or as the `whole`."""
    if not listing.content.items:
        yield from wrap_text(_nothing(listing), columns, 2)
        return
    yield from wrap_text(_headline(listing), columns, 2)
    changes = listing.changes
    for change in changes:
        yield from _change_rows(listing, change, columns)
    if changes and not whole:
        yield from wrap_text("`holdfast trust --show` also lists what is as it was accepted.", columns, 2)
    for leaf in listing.content.leaves() if whole or not changes else ():
        yield from _leaf_rows(listing, leaf, columns)
    yield from (row for note in _notes(listing) for row in wrap_text(note, columns, 2))


def describe_decision(listing: TrustListing) -> str:
    decision = listing.decision
    if decision is None:
        return "Nobody has accepted it: it has no effect."
    by, at = escape_exact(decision.author), format_past(decision.at)
    if decision.accepted:
        return f"Accepted by {by} at {at}: it counts as your own. `holdfast trust --revoke` ends that."
    return f"Declined by {by} at {at}: it has no effect."


def to_json(listing: TrustListing) -> dict[str, Any]:
    decision = listing.decision.model_dump(mode="json") if listing.decision is not None else None
    return {
        "project": listing.root,
        "directory": listing.directory,
        "digest": listing.content.digest if listing.content.items else None,
        "decision": decision,
        "items": [_leaf_json(leaf) for leaf in listing.content.leaves()],
        "changes": [
            {"change": each.kind, "content": each.content, **_leaf_json(each.leaf)} for each in listing.changes
        ],
    }


def _leaf_json(leaf: TrustLeaf) -> dict[str, Any]:
    return {"file": leaf.file, "field": leaf.field, "value": leaf.value, "effect": leaf.effect}


def _nothing(listing: TrustListing) -> str:
    gone = " What was accepted before is not there any more." if listing.before is not None else ""
    return f"Nothing in the configuration of {escape_exact(listing.root)} needs to be accepted.{gone}"


def _headline(listing: TrustListing) -> str:
    root, count = escape_exact(listing.root), sum(1 for _ in listing.content.leaves())
    if listing.changes:
        return f"What was accepted of {root} has changed: nothing of it has an effect until you accept it again."
    if listing.accepted:
        return f"The configuration of {root} has {pluralize(count, 'part')} that you or others have accepted:"
    them = "it" if count == 1 else "them"
    return f"The configuration of {root} has {pluralize(count, 'part')} that would take effect once you accept {them}:"


def _leaf_rows(listing: TrustListing, leaf: TrustLeaf, columns: int | None) -> Iterator[Row]:
    yield from (styled(row, "dim") for row in wrap_text(f"  {_file_and_field(listing, leaf)}", columns, 2))
    yield from wrap_text(f"    {escape_exact(leaf.effect)}", columns, 2)


def _change_rows(listing: TrustListing, change: TrustChange, columns: int | None) -> Iterator[Row]:
    mark, colour = _MARKS[change.kind], _COLOURS[change.kind]
    head = f"{mark} {_file_and_field(listing, change.leaf)}"
    yield from (styled(row, colour) for row in wrap_text(head, columns, 2))
    effect = escape_exact(change.leaf.effect)
    yield from wrap_text(f"    {effect if change.kind != 'removed' else f'no longer: {effect}'}", columns, 2)
    if change.content:
        yield from wrap_text("    The file that it refers to holds something else now.", columns, 2)
    elif change.before is not None:
        yield from wrap_text(f"    before: {escape_exact(change.before.effect)}", columns, 2)


def _file_and_field(listing: TrustListing, leaf: TrustLeaf) -> str:
    return f"{escape_exact(listing.file_of(leaf))}  {escape_exact(leaf.field)}"


def _notes(listing: TrustListing) -> Iterator[str]:
    yield from find_foreign_letters([], " ".join(leaf.effect for leaf in listing.content.leaves()))
    if not listing.checked.may_be_accepted:
        yield "`holdfast.trust` of your own configuration, or of the administrator's, is `never`: it has no effect."
