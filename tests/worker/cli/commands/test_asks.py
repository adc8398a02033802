"""`holdfast asks` and `answer` as processes."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.filled import Filler
from tests.house import House
from tests.worker.cli.conftest import OpenHouse, Shell, shell
from worker.client import InboxEntry
from worker.scripted.script import ScriptedAnswer, ScriptedCall

LONG = "\n".join(f"echo {number}" for number in range(200))
DONE = ScriptedAnswer(text="Done.")


@asynccontextmanager
async def asking(open_house: OpenHouse, command: str = "touch ran") -> AsyncIterator[tuple[House, Shell, InboxEntry]]:
    """A session that asks about a command, with a worker."""
    call = ScriptedCall(name="bash", arguments={"command": command})
    async with open_house(ScriptedAnswer(tools=(call,)), DONE, DONE) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("go")
        (ask,) = await house.asked(session)
        (entry,) = await house.client.asks(ask=ask)
        yield house, shell(house), entry


async def test_the_inbox_shows_the_exact_effect_and_what_always_would_save(open_house: OpenHouse) -> None:
    async with asking(open_house) as (house, person, entry):
        shown, listed = await person.run("asks"), await person.run("asks", "--json")
        await house.answer(entry.id)
        await house.ended(entry.session)

    assert shown.code == 0 and entry.id in shown.out
    assert f"bash wants to run in {house.project} (1 line, 9 characters)\n  │ touch ran\n" in shown.out
    assert "always would allow bash: touch *" in shown.out
    assert [(ask["id"], ask["savable"]) for ask in json.loads(listed.out)] == [(entry.id, ["touch *"])]


async def test_an_answer_counts_once_under_the_persons_name_and_another_one_ends_with_6(open_house: OpenHouse) -> None:
    async with asking(open_house) as (house, person, entry):
        codes = [(await person.run("answer", typed, "once")).code for typed in (entry.id[4:], entry.id)]
        late = await person.run("answer", entry.id, "reject")
        await house.ended(entry.session)
        log = [seen.record async for seen in house.client.log(entry.session)]

    assert codes == [0, 0] and (house.project / "ran").exists()
    assert late.code == 6 and "was already answered once by" in late.err
    (actor,) = [record.actor for record in log if record.event.type == "ask.answered"]
    assert actor.method == "cli" and "@" in actor.subject


async def test_a_long_effect_is_collapsed_in_the_list_and_allowed_only_by_who_has_seen_the_whole(
    open_house: OpenHouse,
) -> None:
    async with asking(open_house, LONG) as (house, person, entry):
        listed, unseen = await person.run("asks"), await person.run("answer", entry.id, "once")
        whole = await person.run("asks", entry.id)
        digest = whole.out.split()[-1]
        allowed = await person.run("answer", entry.id, "once", "--digest", digest)
        await house.ended(entry.session)

    assert unseen.code == 2 and f"`holdfast asks {entry.id}` shows all of it" in unseen.err
    assert digest not in listed.out and allowed.code == 0

    assert "lines hidden" in listed.out and f"holdfast asks {entry.id}" in listed.out and "echo 100\n" not in listed.out
    assert "echo 100\n" in whole.out and "hidden" not in whole.out


async def test_an_answer_to_another_effect_is_refused_with_6_and_changes_nothing(open_house: OpenHouse) -> None:
    async with asking(open_house) as (house, person, entry):
        wrong = await person.run("answer", entry.id, "once", "--digest", "0" * 12)
        still = await house.client.asks()
        right = await person.run("answer", entry.id, "once", "--digest", entry.digest[:12])
        await house.ended(entry.session)
        types = [event.type for event in await house.events(entry.session)]

    assert wrong.code == 6 and "is not what you saw" in wrong.err
    assert [ask.id for ask in still] == [entry.id] and right.code == 0
    assert types.count("answer.refused") == 1


async def test_an_unknown_ask_ends_with_2(open_house: OpenHouse) -> None:
    async with open_house(DONE) as house:
        known, short = [await shell(house).run("answer", each, "once") for each in ("per_" + "0" * 26, "nope")]

    assert (known.code, short.code) == (2, 2)
    assert "There is no ask 'nope'" in short.err


async def test_a_late_answer_after_a_stop_ends_with_6_and_runs_nothing(open_house: OpenHouse) -> None:
    async with asking(open_house) as (house, person, entry):
        await house.client.stop(entry.session)
        await house.ended(entry.session)
        late = await person.run("answer", entry.id, "once")

    assert late.code == 6 and "was closed before your answer" in late.err
    assert not (house.project / "ran").exists()


async def test_always_for_the_project_is_listed_and_revoked(open_house: OpenHouse) -> None:
    async with asking(open_house) as (house, person, entry):
        made = await person.run("answer", entry.id, "project")
        await house.ended(entry.session)
        (row,) = await house.client.grants()
        listed = await person.run("grants")
        revoked = [await person.run("grants", "revoke", row.grant.id) for _ in range(2)]
        after = await person.run("grants", "list", "--json")
        same, revoked_too = await person.run("grants", "--json"), await person.run("grants", "--all", "--json")

    assert made.code == 0 and "Granted for the project: bash: touch *" in made.out
    assert listed.code == 0 and f"project {house.project}" in listed.out
    assert [ended.code for ended in revoked] == [0, 6] and after.out == same.out == "[]\n"
    assert [each["grant"]["id"] for each in json.loads(revoked_too.out)] == [row.grant.id]


async def test_of_many_asks_the_oldest_are_shown_and_the_others_counted(house: House) -> None:
    await Filler(house.client.database, house.project).waiting(33)
    person = shell(house)
    shown, two, listed = [await person.run("asks", *more) for more in ((), ("-n", "2"), ("--json",))]
    known = await house.client.ask_ids()
    again = await person.run("asks", known[-1][4:])

    assert shown.out.count("bash wants to run") == 30 and "And 3 more: holdfast asks -n 33" in shown.err
    assert [each for each in known if each in two.out] == known[:2] and "And 31 more" in two.err
    assert [each["id"] for each in json.loads(listed.out)] == known
    assert "make part-32" in again.out


async def test_the_only_ask_needs_no_name_and_several_are_listed(open_house: OpenHouse) -> None:
    call = ScriptedCall(name="bash", arguments={"command": "touch ran"})
    async with open_house(ScriptedAnswer(tools=(call,)), DONE) as house, house.working():
        house.configure(permission={"bash": "ask"})
        person = shell(house)
        none = await person.run("answer", "once")
        one, two = await house.say("one"), await house.say("two")
        asks = [*await house.asked(one), *await house.asked(two)]
        both = await person.run("answer", "once")
        first = await person.run("answer", asks[0], "once")
        second = await person.run("answer", "once")
        await house.ended(two)

    assert none.code == 2 and "Nothing waits for an answer" in none.err
    assert both.code == 2 and all(ask in both.err for ask in asks)
    assert (first.code, second.code) == (0, 0)
