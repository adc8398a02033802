"""How `holdfast trust` shows a project's configuration."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_exact, find_foreign_letters
from worker.cli.render.formatting import format_past, pluralize
from worker.cli.render.wrap import wrap_text
from worker.trust_client import TrustListing
from workflows.domain.config.trust_items import TrustChange, TrustItem

_WITHOUT: Final = "what it starts or redirects is not there, and the stricter of its rules and yours decides."
_NEVER: Final = "`holdfast.trust` of your own configuration, or of the administrator's, is `never`: it has no effect."
_MOST_EASED: Final = 30


def render_listing(listing: TrustListing, columns: int | None, *, whole: bool = False) -> Iterator[Row]:
    """How it differs from what was accepted; all of it if nothing was, or as the `whole`. What starts or redirects
    something comes first, then what would be easier, then the rules."""
    yield from wrap_text(_headline(listing), columns, 2)
    changes = listing.changes if not whole else []
    shown = changes or [TrustChange(None, each) for each in listing.content.items]
    for change in (each for each in shown if not each.item.is_rule):
        yield from _rows(listing, change, columns, marked=bool(changes))
    yield from _eased_rows(listing, columns)
    for change in (each for each in shown if each.item.is_rule):
        yield from _rows(listing, change, columns, marked=bool(changes))
    if changes:
        yield from wrap_text("`holdfast trust --show` also lists what is as it was accepted.", columns, 2)
    yield from find_foreign_letters([], " ".join(each.effect for each in listing.content.items))
    if listing.content.items and not listing.checked.may_be_accepted:
        yield from wrap_text(_NEVER, columns, 2)


def describe_decision(listing: TrustListing) -> str:
    known, decision = listing.decided.accepted, listing.decided.decision
    if listing.accepted and known is not None:
        by, at = escape_exact(known.author), format_past(known.at)
        return f"Accepted by {by} at {at}: it counts. `holdfast trust --revoke` ends that."
    if decision is not None and not decision.accepted:
        return f"Declined by {escape_exact(decision.author)} at {format_past(decision.at)}: {_WITHOUT}"
    if decision is not None or (known is not None and (known.starts or known.rules)):
        return "A part of it is accepted; the rest is not, or your own rules have changed since."
    return f"Nobody has accepted it: {_WITHOUT}"


def to_json(listing: TrustListing) -> dict[str, Any]:
    decision = listing.decided.decision
    eased = listing.checked.eased_rules()
    return {
        "project": listing.root,
        "directory": listing.directory,
        "digest": listing.content.digest if listing.content.items else None,
        "accepted": listing.accepted,
        "decision": decision.model_dump(mode="json") if decision is not None else None,
        "items": [_item_json(each) for each in listing.content.items],
        "easier": [{"agent": agent, **rule.model_dump(mode="json"), "now": now} for agent, rule, now in eased],
        "changes": [
            {"before": before and _item_json(before), "now": now and _item_json(now)} for before, now in listing.changes
        ],
    }


def _item_json(item: TrustItem) -> dict[str, Any]:
    return {"file": item.file, "field": item.field, "value": item.value, "effect": item.effect}


def _headline(listing: TrustListing) -> str:
    root, items = escape_exact(listing.root), listing.content.items
    if not items:
        gone = " What was accepted before is not there any more." if listing.decided.before is not None else ""
        return f"Nothing in the configuration of {root} needs to be accepted.{gone}"
    if listing.changes:
        return f"What was accepted of {root} has changed: what is new counts once you accept it."
    if listing.accepted:
        return f"The configuration of {root} has {pluralize(len(items), 'part')} that you or others have accepted:"
    them = "it" if len(items) == 1 else "them"
    return f"The configuration of {root} has {pluralize(len(items), 'part')} that would count once you accept {them}:"


def _rows(listing: TrustListing, change: TrustChange, columns: int | None, *, marked: bool) -> Iterator[Row]:
    before, now, item = change.before, change.now, change.item
    mark, colour = ("+", "green") if before is None else ("~", "yellow") if now is not None else ("-", "red")
    path = Path(item.file)
    file = str(path.relative_to(listing.root)) if path.is_relative_to(listing.root) else item.file
    head = f"{mark if marked else ' '} {escape_exact(file)}  {escape_exact(item.field)}"
    yield from (styled(row, colour if marked else "dim") for row in wrap_text(head, columns, 2))
    yield from wrap_text(f"    {'no longer: ' if now is None else ''}{escape_exact(item.effect)}", columns, 4)
    if before is not None and now is not None:
        same = before.value == now.value
        was = "the file that it refers to held something else" if same else escape_exact(before.effect)
        yield from wrap_text(f"    before: {was}", columns, 4)


def _eased_rows(listing: TrustListing, columns: int | None) -> Iterator[Row]:
    """What a person would otherwise have to find by reading both files."""
    eased = [] if listing.accepted else [*listing.checked.eased_rules()]
    if eased:
        yield from wrap_text("With its rules accepted, these become easier than by your own:", columns, 2)
    for agent, rule, now in eased[:_MOST_EASED]:
        what = f"{rule.permission} `{escape_exact(rule.pattern)}`: {now} → {rule.action}"
        yield from wrap_text(f"    {escape_exact(agent)}: {what}", columns, 2)
    if len(eased) > _MOST_EASED:
        yield from wrap_text(f"    and {len(eased) - _MOST_EASED} more (`--json` has all)", columns, 2)
