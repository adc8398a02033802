"""`holdfast schedules`, and `run` with --at or --every, as processes."""

import json

from tests.histories.history_scenarios import DONE
from tests.worker.cli.conftest import OpenHarness, shell
from workflows.domain.ids import Prefix, SessionId

EVERY = ("run", "-m", "scripted/model", "--every", "weekdays 7:00", "--timezone", "Europe/Berlin")


async def test_a_schedule_is_made_listed_paused_triggered_and_deleted(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        person = shell(harness)
        none = await person.run("schedules")
        made = await person.run(*EVERY, "Sweep the floor.")
        schedule = made.out.strip()
        listed = await person.run("schedules")
        completed = await harness.client.inbox.completions(Prefix.SCHEDULE, schedule[:6])
        paused = await person.run("schedules", "pause", schedule, "-m", "until the release")
        fired = await person.run("schedules", "trigger", schedule, "--json")
        session = SessionId(json.loads(fired.out)["session"])
        await harness.ended(session)
        shown = await person.run("schedules", "show", schedule)
        page, status = await person.run("log", session), await person.run("sessions", "show", session)
        resumed = await person.run("schedules", "unpause", schedule, "--json")
        deleted = await person.run("schedules", "delete", schedule)
        verified = await person.run("schedules", "verify")
        await harness.database.rows(b"UPDATE schedule_record SET author = 'another' WHERE kind = 'paused'")
        changed = await person.run("schedules", "verify", schedule)
        over = json.loads((await person.run("schedules", "--all", "--json")).out)

    assert none.out == "" and "holdfast run --every" in none.err
    assert made.err.startswith(f"It prompts a new session in {harness.project}: weekdays 7:00 (Europe/Berlin); next: ")
    assert "no limit is set" in made.err and "07:00 (in " in listed.out and listed.out.startswith(schedule)
    assert [(each.id, each.title) for each in completed] == [(schedule, "weekdays 7:00, active")]
    assert paused.out == f"{schedule}: paused: until the release\n"
    assert "paused by " in shown.out and f"which prompted {session}" in shown.out and "> Sweep the floor." in shown.out
    assert f"who triggered schedule {schedule}" in page.out and f"started by schedule {schedule}" in status.out
    assert json.loads(resumed.out)["state"] == "active" and deleted.out == f"Deleted: 'Sweep the floor.' ({schedule})\n"
    assert verified.out.startswith(f"{schedule}: 5 records, the chain is whole, its head is ")
    assert (changed.code, changed.out) == (
        1,
        f"{schedule}: record 2 (paused) is not what was hashed; in order before it: 1 record\n",
    )
    assert [(each["id"], each["state"], each["prompt"]) for each in over] == [(schedule, "deleted", None)]


async def test_a_session_is_prompted_at_a_moment(open_harness: OpenHarness) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        person = shell(harness)
        session = (await person.run("run", "-m", "scripted/model", "--json", "--exit", "Hello.")).out
        command = (
            "run",
            "-c",
            "--at",
            "2031-02-03T04:05Z",
            "--id",
            "msg_000000000001AAAAAAAAAAAAAA",
            "--json",
            "Sweep \udcff.",  # a byte that is no UTF-8
        )
        made, again = await person.run(*command), await person.run(*command)  # as after a lost connection
        limited = await person.run("run", "-c", "--at", "04:05", "--max-steps", "2", "Sweep.")
        listed = await person.run("schedules", "list", "--json")

    entry = json.loads(made.out)
    assert json.loads(again.out)["id"] == entry["id"] and entry["prompt"]["parts"][0]["text"] == "Sweep \udcff."
    assert entry["session"] in session and (entry["next_at"], entry["overlap"]) == ("2031-02-03T04:05:00Z", "queue")
    assert limited.code == 2 and "holdfast send" in limited.err
    assert [each["id"] for each in json.loads(listed.out)] == [entry["id"]]


PROBLEMS = {
    ("--every", "0 0 30 2 *"): "never comes",
    ("--at", "2:00", "--timezone", "Berlin"): "write its IANA name",
    ("--overlap", "skip"): "--overlap belongs to --at or --every",
    ("--every", "2h", "--no-wait"): "--no-wait is for a task that begins now",
}


async def test_what_cannot_be_scheduled_is_refused_with_what_to_write(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        person = shell(harness)
        ends = [await person.run("run", "-m", "scripted/model", *each, "Sweep.") for each in PROBLEMS]

    for end, problem in zip(ends, PROBLEMS.values(), strict=True):
        assert end.code == 2 and problem in " ".join(end.err.split())
