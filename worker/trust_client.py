"""What a person decides about the files of a project (security.md 12)."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from activities.project.checked_config import CheckedConfig
from activities.store import trust_records
from activities.store.trust_records import TrustVerification
from worker.client_part import ClientPart
from worker.project_config import check_project_trust
from worker.settings import Settings
from workflows.domain.config.accepted_trust import DecidedTrust
from workflows.domain.config.trust_items import TrustChange, TrustContent, TrustItem, find_changes


@dataclass(frozen=True)
class TrustListing:
    """What of a directory's files needs a person's trust, read once, and what was decided about it."""

    checked: CheckedConfig
    decided: DecidedTrust

    @property
    def content(self) -> TrustContent:
        return self.checked.content

    @property
    def root(self) -> str:
        """The root of the project."""
        return self.content.places.root

    @property
    def directory(self) -> str:
        return str(self.checked.workspace.directory)

    @property
    def undecided(self) -> bool:
        """Whether something would start or be redirected that nobody has accepted, or declined as it is."""
        declined = self.decided.decision is not None and not self.accepted
        return self.checked.may_be_accepted and bool(self.pending_starts) and not declined

    @cached_property
    def pending_starts(self) -> list[TrustItem]:
        """Those that nobody has accepted."""
        accepted = self.decided.accepted
        known = {each.digest for each in accepted.starts} if accepted is not None else set()
        return [item for digest, item in self.content.start_digests.items() if digest not in known]

    @property
    def accepted(self) -> bool:
        """All of it, as it is now."""
        known = self.decided.accepted
        return known is not None and not self.pending_starts and (known.rules or not self.content.rules)

    @property
    def changes(self) -> list[TrustChange]:
        """The changes since what was accepted last; none if nothing was, or if this is it."""
        before = self.decided.before
        return [] if before is None or self.accepted else find_changes(before, self.content)


class TrustClient(ClientPart):
    """What people accept of this host's projects, which are named by their work trees."""

    async def decide(self, listing: TrustListing, *, accept: bool) -> None:
        """What is accepted counts from the next turns on, each part as long as the files hold exactly this."""
        await trust_records.decide(
            self.database,
            self.settings.host,
            listing.root,
            listing.directory,
            listing.content,
            self.actor,
            accept=accept,
        )

    async def decided(self, directory: str, content: TrustContent) -> DecidedTrust:
        return await trust_records.read_decided(
            self.database, self.settings.host, content.places.root, directory, content
        )

    async def revoke(self, worktree: str, directory: str) -> None:
        """Everything that was accepted for the project. Raises Conflict if nothing was."""
        await trust_records.revoke(self.database, self.settings.host, worktree, directory, self.actor)

    async def verify(self) -> list[TrustVerification]:
        """Recompute the hash chains of all projects' records."""
        return await trust_records.verify(self.database)


async def list_trust(settings: Settings, client: TrustClient | None, directory: Path) -> TrustListing:
    """`client`: None where no stack was ever started, so that nothing was decided. Raises UsageError."""
    checked = await check_project_trust(settings, directory)
    if client is None:
        return TrustListing(checked, DecidedTrust(None))
    return TrustListing(checked, await client.decided(str(checked.workspace.directory), checked.content))
