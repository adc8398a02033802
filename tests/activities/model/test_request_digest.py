"""A request's digest: of what the model reads, whatever was hashed before."""

from dataclasses import replace
from typing import Any

import pytest

from activities.model.endpoint import Endpoint
from activities.model.port import ModelRequest, SystemInput, UserInput
from activities.model.request_digest import RequestDigester
from tests.activities.model.test_encoded_messages import begun
from workflows.domain.tool_offer import ToolOffer

MODEL = "a/b"
READ = ToolOffer(name="read", description="Reads.", parameters={"type": "object", "minimum": 0.5})


def request(steps: int = 2, **more: Any) -> ModelRequest:
    return ModelRequest(endpoint=Endpoint(model="openai/b"), messages=begun(steps), tools=(READ,), **more)


def fresh(asked: ModelRequest, model: str = MODEL) -> bytes:
    return RequestDigester().digest(asked, model)


def test_a_digest_that_goes_on_is_that_of_the_whole_request() -> None:
    digester = RequestDigester()
    for steps in (1, 2, 2, 7, 3, 4):  # a retry; and where a summary has come in between, a shorter one
        assert digester.digest(request(steps), MODEL) == fresh(request(steps))


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": begun(3)},
        {"messages": (SystemInput(content="Be long."), *begun(2)[1:])},
        {"tools": ()},
        {"tools": (READ.model_copy(update={"description": "Writes."}),)},
        {"tool_choice": "none"},
    ],
)
def test_all_that_a_model_reads_counts(changed: dict[str, Any]) -> None:
    digester = RequestDigester()
    before = digester.digest(request(), MODEL)
    assert digester.digest(replace(request(), **changed), MODEL) != before
    assert digester.digest(request(), "a/c") != before and digester.digest(request(), MODEL) == before


def test_keys_options_and_addresses_do_not_count() -> None:
    other = replace(
        request(), endpoint=Endpoint(model="openai/b", base_url="http://x"), options={"top_p": 1}, context=9
    )
    assert fresh(other) == fresh(request())


def test_texts_that_are_no_unicode_have_a_digest_of_their_own() -> None:
    texts = ("\ud800", "\ufffd", "\\ud800", "\x00", "a\n", "a")
    digests = {fresh(replace(request(), messages=(UserInput(content=text),))) for text in texts}
    assert len(digests) == len(texts)


def test_the_digest_is_defined() -> None:
    """Stored digests are compared with it: it changes with a new definition only."""
    asked = ModelRequest(endpoint=Endpoint(model="openai/b"), messages=(UserInput(content="Hi."),))
    assert fresh(asked).hex()[:16] == "e78243e435f126a6"
