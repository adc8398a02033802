"""The records of trust: what counts of them, and how they are proven."""

import pytest

from activities.store import trust_records
from activities.store.database import Database
from workflows.domain.actor import Actor
from workflows.domain.config.accepted_trust import DecidedTrust
from workflows.domain.config.trust_items import TrustContent, TrustItem
from workflows.domain.errors import Conflict

PERSON = Actor(subject="tester@here", method="test")
ROOT = "/p"


DIRECTORY = f"{ROOT}/sub"


def item(field: str, value: str) -> TrustItem:
    return TrustItem(file="/p/opencode.json", path=(field,), value=value)


def content(*values: str, rules: str | None = None, own: str = "") -> TrustContent:
    """Of starts, one for each value, and of a rule."""
    found = () if rules is None else (item("permission", rules),)
    return TrustContent(starts=tuple(item(f"model_{each}", each) for each in values), rules=found, own_rules=own)


async def decide(database: Database, of: TrustContent, *, accept: bool = True) -> None:
    await trust_records.decide(database, None, ROOT, DIRECTORY, of, PERSON, accept=accept)


async def accepted(database: Database, of: TrustContent, *, host: str | None = None, root: str = ROOT) -> str:
    """The starts that count, and `+` for rules that do."""
    found = (await trust_records.read_decided(database, host, root, DIRECTORY, of)).accepted
    return "" if found is None else "".join(each.field[-1] for each in found.starts) + "+" * found.rules


async def test_each_start_that_was_accepted_counts_in_its_project_on_its_host(database: Database) -> None:
    """To decline something takes nothing back."""
    for values, accept in (("ab", True), ("c", False), ("b", False), ("d", True)):
        await decide(database, content(*values), accept=accept)

    assert await accepted(database, content(*"abcde")) == "abd"
    assert await accepted(database, content(*"abcde"), host="other") == ""
    assert await accepted(database, content(*"abcde"), root="/q") == ""
    found = await trust_records.read_decided(database, None, ROOT, DIRECTORY, content("c"))
    assert found.decision is not None
    assert (found.decision.accepted, found.decision.author, found.decision.method) == (False, "tester@here", "test")
    assert found.before == content("d")


async def test_rules_count_while_they_and_ones_own_are_what_they_were(database: Database) -> None:
    await decide(database, content("a", rules="x", own="mine"))

    assert await accepted(database, content("b", rules="x", own="mine")) == "+"
    assert await accepted(database, content("a", rules="y", own="mine")) == "a"
    assert await accepted(database, content("a", rules="x", own="other")) == "a"
    found = (await trust_records.read_decided(database, None, ROOT, DIRECTORY, content(rules="y"))).accepted
    assert found is not None and found.rules_changed and not found.rules


async def test_a_revocation_ends_all_that_was_accepted_before_and_asks_again(database: Database) -> None:
    await decide(database, content("a"))
    found = (await trust_records.read_decided(database, None, ROOT, DIRECTORY, content("a"))).accepted
    assert found is not None and await trust_records.is_current(database, None, ROOT, found)

    await trust_records.revoke(database, None, ROOT, ROOT, PERSON)

    assert not await trust_records.is_current(database, None, ROOT, found)
    assert await trust_records.read_decided(database, None, ROOT, DIRECTORY, content("a")) == DecidedTrust(None)
    with pytest.raises(Conflict, match="nothing to revoke"):
        await trust_records.revoke(database, None, ROOT, ROOT, PERSON)
    await decide(database, content("a"))
    assert await accepted(database, content("a")) == "a"


TAMPERING = {
    b"SELECT 1": None,
    b"UPDATE trust_record SET author = 'x' WHERE seq = 2": "record 2 (declined) is not what was hashed",
    b"UPDATE trust_record SET kind = 'accepted' WHERE seq = 2": "record 2 (accepted) is not what was hashed",
    b"UPDATE trust_record SET content = '{}' WHERE seq = 1": "record 1 (accepted): what was decided about was changed",
    b"""UPDATE trust_record SET content = (content::jsonb || '{"own_rules": "x"}')::json WHERE seq = 1""": (
        "record 1 (accepted): what was decided about was changed"
    ),
    b"DELETE FROM trust_record WHERE seq = 1": "record 1 is missing (the next one there is 2)",
    b"DELETE FROM trust_record WHERE seq = 2": "records 2 to 2 are missing at the end",
}


async def test_what_was_decided_is_proven_by_a_hash_chain(database: Database) -> None:
    for tampering, problem in TAMPERING.items():
        await database.rows(b"DELETE FROM trust_record")
        await database.rows(b"DELETE FROM trust")
        await decide(database, content("a", rules="x"))
        await decide(database, content("NUL \0 and \ud800"), accept=False)
        await database.rows(tampering)

        (verified,) = await trust_records.verify(database)

        assert (verified.problem or "").startswith(problem or "") and bool(verified.problem) is bool(problem)
