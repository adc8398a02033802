"""What people have decided beyond one ask: grants, and trust in a project's files."""

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


class TrustDecision(Value):
    """`accepted`: else it stays ignored. `seq`: the number of its record; `method`: the door."""

    seq: int
    accepted: bool
    author: str
    method: str
    at: datetime
