"""The words that answer an ask."""

from typing import Final

from workflows.domain.ids import AskId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply

ALLOWING_ANSWERS: Final = {
    "once": (Reply.ONCE, GrantScope.SESSION),
    "always": (Reply.ALWAYS, GrantScope.SESSION),
    "project": (Reply.ALWAYS, GrantScope.PROJECT),
}
ANSWERS: Final = (*ALLOWING_ANSWERS, "reject")


def answer_command(ask: AskId) -> str:
    """The command that answers an ask from any shell."""
    return f"holdfast answer {ask} once | always | project | reject -m 'why'"
