"""The text of a file that a prompt contains, as `read` would show it: within its limits, which never change."""

from typing import Final

from prompts import render_prompt
from workflows.domain.context.truncate import OutputLimits, truncate
from workflows.domain.messages import FilePart
from workflows.domain.reminder_tags import escape_reminders

_LIMITS: Final = OutputLimits()


def embedded_text(part: FilePart) -> str:
    text = part.content.decode("utf-8", "replace")
    cut = truncate(text, _LIMITS)
    shown = text if cut is None else cut.with_message(render_prompt("reminders/held_cut"))
    return escape_reminders(render_prompt("reminders/held", name=part.filename or "file", text=shown))
