"""What of a project's configuration needs a person's trust, and what was decided about it."""

from dataclasses import dataclass
from pathlib import Path

from activities.project.checked_config import CheckedConfig
from worker.project_config import check_project_trust
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.config.trust_items import TrustChange, TrustContent, TrustLeaf, find_changes
from workflows.domain.views.decisions import TrustDecision


@dataclass(frozen=True)
class TrustListing:
    """`content`: read once; it is what is shown, and what is accepted. `before`: what was accepted last."""

    checked: CheckedConfig
    decision: TrustDecision | None
    before: TrustContent | None

    @property
    def content(self) -> TrustContent:
        return self.checked.content

    @property
    def root(self) -> str:
        """The root of the project."""
        return str(self.checked.workspace.root)

    @property
    def directory(self) -> str:
        return str(self.checked.workspace.directory)

    @property
    def accepted(self) -> bool:
        return self.decision is not None and self.decision.accepted

    @property
    def changes(self) -> list[TrustChange]:
        """The changes since what was accepted last; none if nothing was, or if this is it."""
        return [] if self.before is None or self.accepted else [*find_changes(self.before, self.content)]

    def file_of(self, leaf: TrustLeaf) -> str:
        """Relative to the project, if it is in there."""
        path = Path(leaf.file)
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else leaf.file


async def list_trust(settings: Settings, client: SessionClient | None, directory: Path) -> TrustListing:
    """`client`: None where no stack was ever started, so that nothing was decided. Raises UsageError."""
    checked = await check_project_trust(settings, directory)
    if client is None:
        return TrustListing(checked, decision=None, before=None)
    root, content = str(checked.workspace.root), checked.content
    decision = await client.trust.decision(root, content) if content.items else None
    before = await client.trust.accepted_before(root, str(checked.workspace.directory))
    return TrustListing(checked, decision, before)
