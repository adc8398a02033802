"""What `run` prints, and its exit code, for unusual ends of an answer."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.providers import anthropic_messages as messages
from tests.providers import google_gemini as google
from tests.providers import openai_responses as responses
from tests.providers.provider_double import Disconnect, ProviderDouble, event, serve_double
from tests.worker.cli.conftest import CommandResult, OpenHarness, shell

GEMINI, CLAUDE, CODEX = "gemini/gemini-2.5-pro", "anthropic/claude-sonnet-4-5", "openai/gpt-5.3-codex"
BLOCKED = "The provider's content filter blocked the answer"
EMPTY = "The model gave an empty answer 4 times in a row."
MALFORMED = "The model came to no proper end 4 times in a row: MALFORMED_FUNCTION_CALL."
CYBER = {"stop_details": {"type": "refusal", "category": "cyber", "explanation": "It could enable harm."}}
MISALIGNED = event(
    {
        "type": "response.failed",
        "response": {
            "error": {
                "code": "misalignment_policy_violation",
                "message": "Blocked: unintended activity.",
                "misalignment": {"detailed_explanation": "It would delete the backups."},
            }
        },
    }
)

STEERED = event(
    {
        "type": "response.incomplete",
        "response": {"status": "incomplete", "incomplete_details": {"reason": "steered"}, "output": []},
    }
)

Run = Callable[[str, ProviderDouble], AbstractAsyncContextManager[CommandResult]]


@pytest.fixture
def run(open_harness: OpenHarness) -> Run:
    """Run `holdfast run -m MODEL` against a double of the provider, to the end or a question."""

    @asynccontextmanager
    async def running(model: str, double: ProviderDouble) -> AsyncIterator[CommandResult]:
        provider = model.partition("/")[0]
        path = {"gemini": "/v1beta", "openai": "/v1"}.get(provider, "")
        key = {"gemini": google.KEY, "openai": responses.KEY}.get(provider, messages.KEY)
        async with open_harness() as harness, serve_double(double):
            options = {"baseURL": f"{double.url}{path}", "apiKey": key}
            untitled = {"title": {"disable": True}}  # else the double is asked for a title, too
            written = {"provider": {provider: {"options": options}}, "agent": untitled}
            (harness.settings.config / "opencode.json").write_text(json.dumps(written))
            async with harness.running_worker():
                yield await shell(harness).run("run", "--no-wait", "-m", model, "Say hello.")

    return running


def gemini(*answers: google.Answer) -> ProviderDouble:
    return google.Gemini(*answers).double


def claude(*answers: messages.Answer) -> ProviderDouble:
    return messages.Anthropic(*answers).double


def codex(*answers: responses.Answer) -> ProviderDouble:
    return responses.OpenAI(*answers).double


@pytest.mark.parametrize(
    ("model", "double", "said"),
    [
        (GEMINI, gemini(google.Answer((), finish="SAFETY", explained="Unsafe.")), f"{BLOCKED}: SAFETY: Unsafe."),
        (GEMINI, gemini(google.Answer((), blocked="PROHIBITED_CONTENT")), f"{BLOCKED}: PROHIBITED_CONTENT."),
        (GEMINI, gemini(google.Answer((), finish="MALFORMED_FUNCTION_CALL")), MALFORMED),
        (
            CLAUDE,
            claude(messages.Answer((messages.Text("No."),), stop_reason="refusal", end=CYBER)),
            f"{BLOCKED}: cyber: It could enable harm.",
        ),
        (CLAUDE, claude(messages.Answer((messages.Thought("Hm."),))), EMPTY),
        (
            CLAUDE,
            claude(messages.Answer((messages.Thought("Hm."),), stop_reason="max_tokens")),
            "`limit.output` (above 32,000: `maxOutputTokens` in its `options`)",
        ),
        (CODEX, codex(responses.Answer((responses.Refusal("No."),))), BLOCKED),
        (CODEX, codex(responses.Answer((), incomplete="content_filter")), f"{BLOCKED}: content_filter."),
        (
            CODEX,
            codex(responses.Answer((responses.Text("I"), MISALIGNED))),
            "refused the content: Blocked: unintended activity. It would delete the backups.",
        ),
    ],
)
async def test_a_turn_that_came_to_nothing_has_failed(run: Run, model: str, double: ProviderDouble, said: str) -> None:
    async with run(model, double) as ended:
        assert (ended.code, said in " ".join((ended.out + ended.err).split())) == (1, True), ended
        assert len(double.asked) == (4 if said in (EMPTY, MALFORMED) else 1)


async def test_an_answer_that_fills_the_context_of_one_prompt_is_a_question(run: Run) -> None:
    double = claude(messages.Answer((), stop_reason="model_context_window_exceeded"))
    async with run(CLAUDE, double) as ended:
        assert (ended.code, "It could not be compacted" in ended.out) == (4, True), ended
        assert len(double.asked) == 1


SEARCHES = messages.Answer((messages.Text("I search."), messages.Search("a")), stop_reason="pause_turn")
FOUND = messages.Answer((messages.Found(), messages.Text("Found.")))


@pytest.mark.parametrize(
    ("model", "double", "code", "said", "requests"),
    [
        (CLAUDE, claude(SEARCHES, FOUND), 0, "Found.", 2),
        (CLAUDE, claude(SEARCHES), 1, "The provider has paused 11 times in a row", 11),
        (CODEX, codex(responses.Answer((STEERED,)), responses.Answer((responses.Text("Done."),))), 0, "Done.", 2),
    ],
)
async def test_the_model_goes_on_where_its_provider_has_paused_but_not_for_ever(
    run: Run, model: str, double: ProviderDouble, code: int, said: str, requests: int
) -> None:
    async with run(model, double) as ended:
        assert (ended.code, said in ended.out + ended.err, len(double.asked)) == (code, True, requests), ended


HI = google.Answer((google.Text("Hello."),))


@pytest.mark.parametrize(
    ("model", "double", "said", "requests"),
    [
        (GEMINI, gemini(google.Answer((google.Text("Hel"), Disconnect())), HI), "Hello.", 2),
        (GEMINI, gemini(google.Answer((), finish="UNEXPECTED_TOOL_CALL"), HI), "Hello.", 2),
        (GEMINI, gemini(google.Answer((google.Text("Hello."),), finish="MAX_TOKENS")), "was cut at 30 tokens", 4),
        (CLAUDE, claude(messages.Answer((messages.Text("Hello."),), stop_reason="max_tokens")), "cut at 15 tokens", 4),
        (CODEX, codex(responses.Answer((responses.Text("Hello."),))), "Hello.", 1),
    ],
)
async def test_an_answer_with_text_is_done_and_says_what_it_lacks(
    run: Run, model: str, double: ProviderDouble, said: str, requests: int
) -> None:
    async with run(model, double) as ended:
        assert (ended.code, said in ended.out + ended.err) == (0, True), ended
        assert len(double.asked) == requests


async def test_a_step_asks_for_as_long_an_answer_as_it_may_have(run: Run) -> None:
    double = claude(messages.Answer((messages.Text("Hello."),)))
    async with run(CLAUDE, double):
        assert double.asked[0]["max_tokens"] == 32_000
