"""The records of trust: what people have decided about the files of a project, in a hash chain for each."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from activities.store.database import Database, dumps
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain import hash_chain
from workflows.domain.actor import Actor
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.errors import Conflict
from workflows.domain.value import Value

_QUERIES: Final = Queries("trust_records")


class TrustKind(StrEnum):
    """DECLINED: it stays ignored, without another question. REVOKED: so does all that was accepted before."""

    ACCEPTED = "accepted"
    DECLINED = "declined"
    REVOKED = "revoked"


class TrustRecordRow(Value):
    """`digest`: of the content; of a revocation, none. `method`: the door."""

    trust: str
    seq: int
    kind: TrustKind
    directory: str
    digest: str | None
    author: str
    method: str
    at: datetime

    @property
    def canonical(self) -> bytes:
        """The bytes that are hashed. Its fields are fixed: older records have these."""
        at = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        return hash_chain.canonical_json(self.model_dump(mode="json") | {"at": at})


class TrustVerification(Value):
    """Result of recomputing a project's hash chain; `problem` names the first bad record."""

    trust: str
    records: int
    problem: str | None = None


def trust_id(host: str | None, worktree: str) -> str:
    return f"{host or ''}:{worktree}"


async def decide(
    database: Database,
    host: str | None,
    worktree: str,
    directory: str,
    content: TrustContent,
    actor: Actor,
    *,
    accept: bool,
) -> TrustRecordRow:
    """Record a person's decision; the same decision again is another record."""
    kind = TrustKind.ACCEPTED if accept else TrustKind.DECLINED
    return await _add(database, host, worktree, kind, directory, content, actor)


async def revoke(database: Database, host: str | None, worktree: str, directory: str, actor: Actor) -> TrustRecordRow:
    """Withdraw all that was accepted, from the next turns on. Raises Conflict if nothing does."""
    if not await database.rows(_QUERIES.any_accepted, trust=trust_id(host, worktree)):
        raise Conflict(f"Nothing of the configuration in {worktree!r} is accepted: there is nothing to revoke.")
    return await _add(database, host, worktree, TrustKind.REVOKED, directory, None, actor)


async def decision(reader: RowReader, host: str | None, worktree: str, digest: str) -> TrustRecordRow | None:
    """The last decision about this content; None if there is none, or it was revoked."""
    rows = await reader.rows(_QUERIES.decision, trust=trust_id(host, worktree), digest=digest)
    found = TrustRecordRow(**rows[0]) if rows else None
    return None if found is None or found.kind is TrustKind.REVOKED else found


async def find_accepted(reader: RowReader, host: str | None, worktree: str, digest: str) -> AcceptedTrust | None:
    found = await decision(reader, host, worktree, digest)
    if found is None or found.kind is not TrustKind.ACCEPTED:
        return None
    return AcceptedTrust(record=found.seq, digest=digest, author=found.author, at=found.at)


async def accepted_before(reader: RowReader, host: str | None, worktree: str, directory: str) -> TrustContent | None:
    """What was accepted last, for showing how it has changed."""
    rows = await reader.rows(_QUERIES.accepted_before, trust=trust_id(host, worktree), directory=directory)
    return TrustContent.model_validate(rows[0]["content"]) if rows else None


async def verify(database: Database) -> list[TrustVerification]:
    """Recompute all hash chains, and the digests of the contents."""
    async with database.statements() as batch:
        return [await _verify(batch, chain) for chain in await batch.rows(_QUERIES.chains)]


async def _add(
    database: Database,
    host: str | None,
    worktree: str,
    kind: TrustKind,
    directory: str,
    content: TrustContent | None,
    actor: Actor,
) -> TrustRecordRow:
    trust = trust_id(host, worktree)
    async with database.statements() as batch:
        (end,) = await batch.rows(_QUERIES.lock, id=trust, host=host, worktree=worktree, head=hash_chain.GENESIS)
        row = TrustRecordRow(
            trust=trust,
            seq=end["seq"] + 1,
            kind=kind,
            directory=directory,
            digest=content.digest if content is not None else None,
            author=actor.subject,
            method=actor.method,
            at=end["now"],
        )
        before = bytes(end["head"])
        hashed = hash_chain.chain_hash(before, row.canonical)
        stored = dumps((content or TrustContent()).model_dump(mode="json"))
        batch.write(_QUERIES.add, **dict(row), content=stored, prev_hash=before, hash=hashed)
    return row


async def _verify(reader: RowReader, chain: dict[str, Any]) -> TrustVerification:
    seq, head = 0, hash_chain.GENESIS
    for row in await reader.rows(_QUERIES.chain, trust=chain["id"]):
        found = TrustRecordRow(**{name: row[name] for name in TrustRecordRow.model_fields})
        link = hash_chain.Link(found.seq, found.canonical, bytes(row["prev_hash"]), bytes(row["hash"]))
        name = f"record {found.seq} ({found.kind})"
        problem = hash_chain.link_problem("record", name, seq, head, link)
        if problem is None and found.digest not in (None, TrustContent.model_validate(row["content"]).digest):
            problem = f"{name}: what was decided about was changed afterwards"
        if problem is not None:
            return TrustVerification(trust=chain["id"], records=seq, problem=problem)
        seq, head = found.seq, link.hash
    lost = f"records {seq + 1} to {chain['seq']} are missing at the end" if chain["seq"] > seq else None
    other = "its row names another last record" if (chain["seq"], bytes(chain["head"])) != (seq, head) else None
    return TrustVerification(trust=chain["id"], records=seq, problem=lost or other)
