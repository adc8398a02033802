"""Model.generate: no key reaches a row, the engine or a log."""

import pytest

from tests.activities.model.model_rig import Open
from worker.scripted.script import Refuse, ScriptedAnswer

KEY = "a-key-of-a-test-4711"


async def test_a_key_that_a_provider_repeats_is_stored_and_shown_nowhere(
    open_model: Open, caplog: pytest.LogCaptureFixture
) -> None:
    told = Refuse(status=500, body={"error": {"message": f"No such key: {KEY}"}})
    async with open_model(ScriptedAnswer(text="x", faults={1: told})) as model:
        model.log_in(f"{KEY}\r\n")
        failure = await model.failure()
        rows = await model.rows()
    assert "No such key: a-k[redacted]" in str(failure) and "No such key: a-k[redacted]" in rows
    assert KEY not in f"{failure} {rows} {caplog.text}"


@pytest.mark.parametrize("key", [f"{KEY}\nKEY=2", f"{KEY}é"])
async def test_a_key_that_cannot_be_sent_ends_the_turn_and_is_shown_nowhere(
    open_model: Open, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    async with open_model(ScriptedAnswer(text="Hello.")) as model:
        model.log_in(key)
        failure = await model.failure()
        log, rows = await model.rig.types(), await model.rows()
    assert (failure.type, failure.non_retryable) == ("ModelFailed", True)
    assert "provider.scripted.options.apiKey cannot be sent in a header: its character 21 is" in str(failure)
    assert model.server.ledger.entries == [] and "model.retry" not in log
    assert KEY not in f"{failure} {rows} {caplog.text}"


async def test_what_a_provider_says_leaves_whole_for_the_edge_which_redacts_before_it_cuts(open_model: Open) -> None:
    words = f"No. {'x' * 980}{KEY}"
    told = Refuse(status=400, body={"error": {"message": words}})
    async with open_model(ScriptedAnswer(text="x", faults={1: told})) as model:
        failure = await model.failure()
    assert words in str(failure)
