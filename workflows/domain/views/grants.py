"""Grants, as doors show them."""

from datetime import datetime

from workflows.domain.ids import SessionId
from workflows.domain.permissions.grants import Grant
from workflows.domain.value import Value


class GrantEntry(Value):
    """A grant and where it holds, how often it was used, and whether it still holds."""

    grant: Grant
    session: SessionId
    project: str | None
    uses: int
    expires_at: datetime | None
    expired: bool
    revoked_at: datetime | None
    revoked_by: str | None
