"""`holdfast asks` and `answer` as processes."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.filler import Filler
from tests.harness import Harness
from tests.worker.cli.conftest import CommandRunner, OpenHarness, shell
from tests.worker.cli.test_completers import tab
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.views.inbox import InboxEntry

LONG = "\n".join(f"echo {number}" for number in range(200))
DONE = ScriptedAnswer(text="Done.")


@asynccontextmanager
async def asking(
    open_harness: OpenHarness, command: str = "touch ran", **rules: str
) -> AsyncIterator[tuple[Harness, CommandRunner, InboxEntry]]:
    """A session that asks about a command, with a worker."""
    call = ScriptedCall(name="bash", arguments={"command": command})
    async with open_harness(ScriptedAnswer(tools=(call,)), DONE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask", **rules})
        session = await harness.start_session("go")
        (ask,) = await harness.wait_for_asks(session)
        (entry,) = await harness.client.inbox.asks(ask=ask)
        yield harness, shell(harness), entry


async def test_the_inbox_shows_the_exact_effect_and_what_always_would_save(open_harness: OpenHarness) -> None:
    async with asking(open_harness) as (harness, person, entry):
        shown, listed = await person.run("asks"), await person.run("asks", "--json")
        await harness.answer(entry.id)
        await harness.ended(entry.session)

    assert shown.code == 0 and entry.id in shown.out and shown.out.startswith("a1  waits for ")
    assert "  holdfast answer a1 once | always | project | reject -m 'why'\n" in shown.out
    assert f"bash wants to run in {harness.project} (1 line, 9 characters)\n  │ touch ran\n" in shown.out
    assert "always would allow bash: touch *" in shown.out
    (ask,) = json.loads(listed.out)
    assert (ask["id"], ask["savable"]) == (entry.id, [{"permission": "bash", "patterns": ["touch *"]}])


async def test_an_answer_counts_once_under_the_persons_name_and_another_one_ends_with_6(
    open_harness: OpenHarness,
) -> None:
    async with asking(open_harness) as (harness, person, entry):
        codes = [(await person.run("answer", typed, "once")).code for typed in (entry.id[4:], entry.id)]
        late = await person.run("answer", entry.id, "reject")
        await harness.ended(entry.session)
        log = [seen.record async for seen in harness.client.records.log(entry.session)]

    assert codes == [0, 0] and (harness.project / "ran").exists()
    assert late.code == 6 and "was already answered once by" in late.err
    (actor,) = [record.actor for record in log if record.event.type == "ask.answered"]
    assert actor.method == "cli" and "@" in actor.subject


async def test_an_effect_that_two_rules_ask_about_is_shown_and_answered_once(open_harness: OpenHarness) -> None:
    async with asking(open_harness, edit="ask") as (harness, person, entry):
        shown, made = await person.run("asks"), await person.run("answer", "always")
        await harness.ended(entry.session)
        log = await person.run("log", entry.session)

    assert [row for row in shown.out.splitlines() if "Asked because" in row] == [
        "  Asked because the project's rule 'bash: *' says ask.",
        "  Asked because the project's rule 'edit: *' says ask.",
    ]
    assert "  always would allow bash: touch * and edit: ran\n" in shown.out
    assert made.out.startswith("bash: always in this session, recorded as ")
    granted = [row.partition(" (")[0] for row in made.out.splitlines() if row.startswith("Granted")]
    assert granted == ["Granted for the session: bash: touch *", "Granted for the session: edit: ran"]
    assert "bash: touch * in this session, edit: ran in this session" in " ".join(log.out.split())
    assert (harness.project / "ran").exists()


async def test_a_long_effect_is_collapsed_in_the_list_and_allowed_only_by_who_has_seen_the_whole(
    open_harness: OpenHarness,
) -> None:
    async with asking(open_harness, LONG) as (harness, person, entry):
        listed, unseen = await person.run("asks"), await person.run("answer", entry.id, "once")
        whole = await person.run("asks", entry.id)
        digest = whole.out.split()[-1]
        allowed = await person.run("answer", entry.id, "once", "--digest", digest)
        await harness.ended(entry.session)

    assert unseen.code == 2 and f"`holdfast asks {entry.name}` shows all of it" in unseen.err
    assert digest not in listed.out and allowed.code == 0

    assert (
        "lines hidden" in listed.out and f"holdfast asks {entry.name}" in listed.out and "echo 100\n" not in listed.out
    )
    assert "echo 100\n" in whole.out and "hidden" not in whole.out


async def test_an_answer_to_another_effect_is_refused_with_6_and_changes_nothing(open_harness: OpenHarness) -> None:
    async with asking(open_harness) as (harness, person, entry):
        wrong = await person.run("answer", entry.id, "once", "--digest", "0" * 12)
        still = await harness.client.inbox.asks()
        right = await person.run("answer", entry.id, "once", "--digest", entry.digest[:12])
        await harness.ended(entry.session)
        types = [event.type for event in await harness.events(entry.session)]

    assert wrong.code == 6 and "is not what you saw" in wrong.err
    assert [ask.id for ask in still] == [entry.id] and right.code == 0
    assert types.count("answer.refused") == 1


async def test_an_unknown_ask_ends_with_2(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness:
        typed = [await shell(harness).run("answer", each, "once") for each in ("per_" + "0" * 26, "per_no", "a7", "1")]

    assert [each.code for each in typed] == [2, 2, 2, 2]
    assert "There is no ask 'per_no'" in typed[1].err and "There is no ask 'a7'" in typed[2].err
    assert "Nothing waits for an answer" in typed[3].err


async def test_a_late_answer_after_a_stop_ends_with_6_and_runs_nothing(open_harness: OpenHarness) -> None:
    async with asking(open_harness) as (harness, person, entry):
        await harness.client.stop(entry.session)
        await harness.ended(entry.session)
        late = await person.run("answer", entry.id, "once")

    assert late.code == 6 and "was closed before your answer" in late.err
    assert not (harness.project / "ran").exists()


async def test_always_for_the_project_is_listed_and_revoked(open_harness: OpenHarness) -> None:
    async with asking(open_harness) as (harness, person, entry):
        made = await person.run("answer", entry.id, "project")
        await harness.ended(entry.session)
        (row,) = await harness.client.grants.list_all()
        listed = await person.run("grants")
        revoked = [await person.run("grants", "revoke", row.grant.id) for _ in range(2)]
        after = await person.run("grants", "list", "--json")
        same, revoked_too = await person.run("grants", "--json"), await person.run("grants", "--all", "--json")

    assert made.code == 0 and made.out.startswith("bash: always in this project, recorded as ")
    assert "Granted for the project: bash: touch *" in made.out
    assert listed.code == 0 and f"project {harness.project}" in listed.out
    assert [ended.code for ended in revoked] == [0, 6] and after.out == same.out == "[]\n"
    assert [each["grant"]["id"] for each in json.loads(revoked_too.out)] == [row.grant.id]


async def test_an_archive_of_another_database_may_bring_names_that_are_in_use(open_harness: OpenHarness) -> None:
    async with asking(open_harness) as (harness, person, entry):
        await person.run("answer", "a1", "once")
        await harness.ended(entry.session)
        await harness.workflow(entry.session).result()
        archive = await harness.client.archives.archive(entry.session)
        await harness.database.rows(b"ALTER SEQUENCE ask_number RESTART")
        session = await harness.start_session("go")
        (ask,) = await harness.wait_for_asks(session)
        await harness.client.archives.restore(archive)
        shown, answered = await person.run("asks", "a1"), await person.run("answer", "a1", "once")
        await harness.ended(session)

    assert ask in shown.out and entry.id not in shown.out and answered.code == 0


async def test_of_many_asks_the_oldest_are_shown_and_the_others_counted(harness: Harness) -> None:
    await Filler(harness.client.database, harness.project).waiting(33)
    person = shell(harness)
    shown, two, listed = [await person.run("asks", *more) for more in ((), ("-n", "2"), ("--json",))]
    known = await harness.client.inbox.ask_ids()
    again = await person.run("asks", known[-1][4:])

    assert shown.out.count("bash wants to run") == 30 and "And 3 more: holdfast asks -n 33" in shown.err
    assert [each for each in known if each in two.out] == known[:2] and "And 31 more" in two.err
    assert [each["id"] for each in json.loads(listed.out)] == known
    assert "make part-32" in again.out


async def test_the_only_ask_needs_no_name_and_several_are_listed(open_harness: OpenHarness) -> None:
    call = ScriptedCall(name="bash", arguments={"command": "touch ran"})
    async with open_harness(ScriptedAnswer(tools=(call,)), DONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        person = shell(harness)
        none = await person.run("answer", "once")
        one = await harness.start_session("one")
        asks = await harness.wait_for_asks(one)  # it is the older one
        two = await harness.start_session("two")
        asks += await harness.wait_for_asks(two)
        state = await person.run("sessions", "show", one)
        refused = [await person.run("answer", *words) for words in (("once",), ("1",), ("1", "once"))]
        offered = await tab(person, "holdfast answer ")
        first = await person.run("answer", "A1", "once")
        again = await person.run("answer", "a1", "reject")
        second = await person.run("answer", "once")
        await harness.ended(two)

    assert none.code == 2 and "Nothing waits for an answer" in none.err
    assert {each.code for each in refused} == {2}
    assert all("Several asks are open" in each.err and "  a2  bash  touch ran" in each.err for each in refused)
    assert "1 ask waits for your answer: holdfast asks --session" in state.out
    assert offered.out == "plain,a1\nplain,a2\n" and len(asks) == 2
    assert (first.code, second.code) == (0, 0)
    assert again.code == 6 and "was already answered once" in again.err


async def test_a_question_of_the_model_is_answered_in_the_inbox_after_a_restart(open_harness: OpenHarness) -> None:
    options = [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]
    asked = {"questions": [{"question": "Which colour?", "header": "Colour", "options": options, "custom": False}]}
    call = ScriptedCall(name="question", arguments=asked)
    async with open_harness(ScriptedAnswer(tools=(call,)), DONE) as harness:
        person = shell(harness)
        async with harness.running_worker():
            session = await harness.start_session("Paint it.")
            (ask,) = await harness.wait_for_asks(session)
        shown, none = await person.run("asks"), await person.run("answer", ask, "green")
        wrong = await person.run("answer", ask, "once")
        chosen = await person.run("answer", ask, "-o", "2")
        async with harness.running_worker():
            await harness.ended(session)
        said = harness.model.last_request
        told = await person.run("log", session)
        verified = await person.run("log", session, "--verify")

    assert "build has a question for you" in shown.out and "2  blue: cold" in shown.out and ask in shown.out
    assert (none.code, wrong.code) == (2, 2) and "'green' is not an option of 'Colour'" in none.err
    assert chosen.code == 0 and "answered" in chosen.out and "blue" in chosen.out
    assert said is not None and '"Which colour?"="blue"' in str(said.body["messages"][-1]["content"])
    assert "answered by" in told.out and "blue" in told.out and verified.code == 0
