"""The words that answer an ask, at the question and in `holdfast answer`."""

from typing import Final

from workflows.domain.ids import AskId
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply

ALLOWING: Final = {  # how far each answer that allows reaches
    "once": (Reply.ONCE, Scope.SESSION),
    "always": (Reply.ALWAYS, Scope.SESSION),
    "project": (Reply.ALWAYS, Scope.PROJECT),
}
ANSWERS: Final = (*ALLOWING, "reject")


def command(ask: AskId) -> str:
    """What is typed to answer an ask from any shell."""
    return f"holdfast answer {ask} once | always | project | reject -m 'why'"
