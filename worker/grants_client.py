"""A person's grants: list and revoke."""

from activities.store import grants
from worker.client_part import ClientPart
from workflows.domain.ids import GrantId
from workflows.domain.views.grants import GrantEntry


class GrantsClient(ClientPart):
    async def list_all(self, *, include_revoked: bool = False) -> list[GrantEntry]:
        return await grants.list_all(self.database, include_revoked=include_revoked)

    async def revoke(self, grant: GrantId) -> None:
        """Revoke a grant. Raises NotFound, Conflict."""
        await grants.revoke(self.database, grant, self.actor)
