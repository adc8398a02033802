"""The records of trust: what people have decided about the files of a project, in a hash chain for each."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias

from activities.store.database import Database, dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain import hash_chain
from workflows.domain.actor import Actor
from workflows.domain.config.accepted_trust import AcceptedStart, AcceptedTrust, DecidedTrust, TrustDecision
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.errors import Conflict
from workflows.domain.ids import TurnConfigId
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
    def decision(self) -> TrustDecision:
        accepted = self.kind is TrustKind.ACCEPTED
        return TrustDecision(seq=self.seq, accepted=accepted, author=self.author, method=self.method, at=self.at)

    @property
    def canonical(self) -> bytes:
        """The bytes that are hashed. Its fields are fixed: older records have these."""
        at = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        return hash_chain.canonical_json(self.model_dump(mode="json") | {"at": at})


DecidedContent: TypeAlias = tuple[TrustRecordRow, TrustContent]


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
) -> None:
    """Record a person's decision; the same decision again is another record."""
    kind = TrustKind.ACCEPTED if accept else TrustKind.DECLINED
    await _add(database, host, worktree, kind, directory, content, actor)


async def revoke(database: Database, host: str | None, worktree: str, directory: str, actor: Actor) -> TrustRecordRow:
    """Withdraw all that was accepted, from the next turns on. Raises Conflict if nothing does."""
    if not any(row.kind is TrustKind.ACCEPTED for row, _ in await _unrevoked(database, trust_id(host, worktree))):
        raise Conflict(f"Nothing of the configuration in {worktree!r} is accepted: there is nothing to revoke.")
    return await _add(database, host, worktree, TrustKind.REVOKED, directory, None, actor)


async def read_decided(
    reader: RowReader, host: str | None, worktree: str, directory: str, content: TrustContent
) -> DecidedTrust:
    return decided_about(content, directory, await _unrevoked(reader, trust_id(host, worktree)))


def decided_about(content: TrustContent, directory: str, records: Sequence[DecidedContent]) -> DecidedTrust:
    """What was accepted counts until it is revoked: of the starts each, and the rules as they are beside those of one's
    own files. To decline something only ends the questions about it."""
    known, before, newest = set[str](), None, None
    rules = f"{content.rules_digest} beside {content.own_rules}"
    for row, decided in ((row, decided) for row, decided in records if row.kind is TrustKind.ACCEPTED):
        found = {*decided.start_digests, f"{decided.rules_digest} beside {decided.own_rules}"}
        known |= found
        before = decided if row.directory == directory else before
        newest = row if row.directory == directory or found & {*content.start_digests, rules} else newest
    decision = next((row.decision for row, decided in reversed(records) if decided.digest == content.digest), None)
    starts = tuple(
        AcceptedStart(digest=digest, file=item.file, field=item.field)
        for digest, item in content.start_digests.items()
        if digest in known
    )
    counts = bool(content.rules) and rules in known
    changed = bool(content.rules and before and before.rules) and not counts
    if newest is None or not (starts or counts or changed):
        return DecidedTrust(None, decision, before)
    named = {"record": newest.seq, "read_to": records[-1][0].seq, "author": newest.author, "at": newest.at}
    return DecidedTrust(AcceptedTrust(**named, starts=starts, rules=counts, rules_changed=changed), decision, before)


async def is_current(reader: RowReader, host: str | None, worktree: str, accepted: AcceptedTrust) -> bool:
    """Whether nothing was decided about the project since that was read."""
    rows = await reader.rows(_QUERIES.last, trust=trust_id(host, worktree))
    return bool(rows) and rows[0]["seq"] == accepted.read_to


async def last_turn(
    journal: Journal, host: str | None, worktree: str, directory: str
) -> tuple[TurnConfigId, bool] | None:
    """The configuration of the session's last turn that could work, and whether a person has decided since."""
    row = await journal.row(
        _QUERIES.last_turn, trust=trust_id(host, worktree), directory=directory, session=journal.session
    )
    return None if row is None else (TurnConfigId(row["turn_config"]), bool(row["decided"]))


async def _unrevoked(reader: RowReader, trust: str) -> list[DecidedContent]:
    rows = await reader.rows(_QUERIES.unrevoked, trust=trust)
    fields = TrustRecordRow.model_fields
    return [
        (TrustRecordRow(**{name: row[name] for name in fields}), TrustContent.model_validate(row["content"]))
        for row in rows
    ]


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
            digest=content.sealed if content is not None else None,
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
        if problem is None and found.digest not in (None, TrustContent.model_validate(row["content"]).sealed):
            problem = f"{name}: what was decided about was changed afterwards"
        if problem is not None:
            return TrustVerification(trust=chain["id"], records=seq, problem=problem)
        seq, head = found.seq, link.hash
    lost = f"records {seq + 1} to {chain['seq']} are missing at the end" if chain["seq"] > seq else None
    other = "its row names another last record" if (chain["seq"], bytes(chain["head"])) != (seq, head) else None
    return TrustVerification(trust=chain["id"], records=seq, problem=lost or other)
