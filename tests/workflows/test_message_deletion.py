"""A message that a person deletes is seen by no model any more, by no reader, and by the log's readers as deleted."""

from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall

SECRET = "hunter2"
TOLD = ScriptedAnswer(text=f"I know {SECRET}.", tools=(ScriptedCall(name="glob", arguments={"pattern": SECRET}),))
DONE = ScriptedAnswer(text="Done.")


async def test_no_model_reads_a_deleted_message_though_its_worker_had_it(open_harness: Open) -> None:
    again = ScriptedAnswer(text=f"It is {SECRET}.")
    async with open_harness(TOLD, again, DONE) as harness, harness.running_worker():
        person = shell(harness)
        session = await harness.start_session(f"Remember {SECRET}.")
        await harness.ended(session)
        told = [message.id for message in await harness.client.records.transcript(session)]
        deleted = [await person.run("delete", session, "--message", message) for message in told]
        await harness.client.prompt(session, "What was it?")
        await harness.ended(session, 2)
        asked = harness.model.last_request
        seen = [await person.run(*command, session) for command in (("export",), ("log",), ("sessions", "show"))]
        verified = await person.run("log", session, "--verify")

    assert [each.code for each in (*deleted, *seen, verified)] == [0] * (len(deleted) + 4), (deleted, seen)
    assert deleted[0].out == f"Deleted: message {told[0]} of {session}\n"
    assert asked is not None and SECRET not in str(asked.body) and "were deleted" in str(asked.body)
    assert [message["role"] for message in asked.body["messages"]][1:] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert all(SECRET not in each.out and "deleted" in each.out for each in seen)
    assert "3 messages deleted" in seen[2].out
