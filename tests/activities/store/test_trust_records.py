"""The records of trust: what counts of them, and how they are proven."""

import pytest

from activities.store import trust_records
from activities.store.database import Database
from workflows.domain.actor import Actor
from workflows.domain.config.trust_items import TrustContent, TrustItem
from workflows.domain.errors import Conflict

PERSON = Actor(subject="tester@here", method="test")
ROOT = "/p"


def content(value: str) -> TrustContent:
    return TrustContent(items=(TrustItem(file="/p/opencode.json", path=("model",), value=value, why=""),))


async def decide(database: Database, value: str, *, accept: bool = True, host: str | None = None) -> None:
    await trust_records.decide(database, host, ROOT, f"{ROOT}/sub", content(value), PERSON, accept=accept)


async def is_accepted(database: Database, value: str, *, host: str | None = None, root: str = ROOT) -> bool:
    return await trust_records.find_accepted(database, host, root, content(value).digest) is not None


async def test_the_last_decision_about_a_content_counts_in_its_project_on_its_host(database: Database) -> None:
    for value, accept in (("a", True), ("b", False), ("c", False), ("c", True)):
        await decide(database, value, accept=accept)

    assert [await is_accepted(database, each) for each in "abcd"] == [True, False, True, False]
    assert not await is_accepted(database, "a", host="other") and not await is_accepted(database, "a", root="/q")
    found = await trust_records.decision(database, None, ROOT, content("b").digest)
    assert found is not None and (found.kind, found.author, found.method) == ("declined", "tester@here", "test")


async def test_a_revocation_ends_all_that_was_accepted_before_and_asks_again(database: Database) -> None:
    await decide(database, "a")
    assert await trust_records.accepted_before(database, None, ROOT, f"{ROOT}/sub") == content("a")

    await trust_records.revoke(database, None, ROOT, ROOT, PERSON)

    assert not await is_accepted(database, "a")
    assert await trust_records.decision(database, None, ROOT, content("a").digest) is None
    assert await trust_records.accepted_before(database, None, ROOT, f"{ROOT}/sub") is None
    with pytest.raises(Conflict, match="nothing to revoke"):
        await trust_records.revoke(database, None, ROOT, ROOT, PERSON)
    await decide(database, "a")
    assert await is_accepted(database, "a")


TAMPERING = {
    b"SELECT 1": None,
    b"UPDATE trust_record SET author = 'x' WHERE seq = 2": "record 2 (declined) is not what was hashed",
    b"UPDATE trust_record SET kind = 'accepted' WHERE seq = 2": "record 2 (accepted) is not what was hashed",
    b"UPDATE trust_record SET content = '{}' WHERE seq = 1": "record 1 (accepted): what was decided about was changed",
    b"DELETE FROM trust_record WHERE seq = 1": "record 1 is missing (the next one there is 2)",
    b"DELETE FROM trust_record WHERE seq = 2": "records 2 to 2 are missing at the end",
}


async def test_what_was_decided_is_proven_by_a_hash_chain(database: Database) -> None:
    for tampering, problem in TAMPERING.items():
        await database.rows(b"DELETE FROM trust_record")
        await database.rows(b"DELETE FROM trust")
        await decide(database, "a")
        await decide(database, "NUL \0 and \ud800", accept=False)
        await database.rows(tampering)

        (verified,) = await trust_records.verify(database)

        assert (verified.problem or "").startswith(problem or "") and bool(verified.problem) is bool(problem)
