"""The life of a grant."""

from typing import Literal

from workflows.domain.ids import AskId, GrantId
from workflows.domain.value import Value


class GrantMade(Value):
    type: Literal["grant.made"] = "grant.made"
    grant: GrantId
    ask: AskId
    scope: str
    permission: str
    patterns: tuple[str, ...]


class GrantRevoked(Value):
    type: Literal["grant.revoked"] = "grant.revoked"
    grant: GrantId
