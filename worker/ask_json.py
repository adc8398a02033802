"""An ask as JSON, for `asks --json` and session lines."""

from pydantic import JsonValue

from worker.inbox_reader import InboxEntry


def ask_to_json(entry: InboxEntry) -> dict[str, JsonValue]:
    """The stored ask, its reasons, what "always" would save."""
    more = {"savable": list(entry.savable), "reasons": list(entry.reasons)}
    return {**entry.model_dump(mode="json", exclude={"rules"}), **more}
