"""The page of what a model was sent."""

from datetime import UTC, datetime
from typing import Any

import pytest

from worker.cli.commands.sessions import parse_request_choice
from worker.cli.render.sent_request_page import render_sent_request
from workflows.domain.errors import UsageError
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, SessionId
from workflows.domain.sent_request import LeftOut, RequestChoice, SentEntry, SentLayer, SentRequest, SentTool

CALL = {"id": "c1", "name": "read", "arguments": '{"filePath":"a"}'}
THOUGHT = {"type": "reasoning", "text": "Hm."}
PICTURE = {"type": "image", "url": "data:image/png;base64,AAAA"}
SENT = SentRequest(
    session=SessionId("ses_1"),
    generation=GenerationId("gen_1"),
    purpose=Purpose.STEP,
    number=2,
    step=4,
    at=datetime(2026, 1, 31, 12, tzinfo=UTC),
    model="a/b",
    release="0.1",
    digest="0123456789abcdef" * 4,
    rebuilt="0123456789abcdef" * 4,
    answered=True,
    layers=(SentLayer(name="base prompt", text="Be brief.", tokens=1_200),),
    conversation=(
        SentEntry(name="prompt", number=2, step=1, messages=({"role": "user", "content": "\x1b[2JGo."},), tokens=1),
        SentEntry(
            name="answer",
            number=2,
            step=1,
            messages=(
                {"role": "assistant", "parts": [THOUGHT, {"type": "text", "text": "I look."}, CALL]},
                {"role": "tool", "call": "c1", "content": "no such file", "failed": True},
                {"role": "user", "content": [{"type": "text", "text": "Attached:"}, PICTURE]},
            ),
            tokens=30,
        ),
    ),
    tools=(SentTool(name="read", description="Reads.", parameters={"type": "object"}, tokens=9),),
    left_out=(LeftOut(what="2 results of tools, ~900 tokens", why="cleared by pruning, as old"),),
    tokens=1_240,
    counted=1_300,
)  # fmt: skip
PAGE = """\
Sent to a/b at turn 2, step 4
  AT, gen_1
  As it was sent (digest 0123456789abcdef…).
  About 1,240 tokens by estimate; the provider has counted 1,300.

Instructions
      1,200  base prompt

Conversation
          1  turn 2, step 1: prompt
         30  turn 2, step 1: answer with 1 call

Tools
          9  read

Left out
  2 results of tools, ~900 tokens  cleared by pruning, as old

base prompt
  │ Be brief.

turn 2, step 1: prompt
  │ \\x1b[2JGo.

turn 2, step 1: thoughts
  │ Hm.

turn 2, step 1: answer
  │ I look.

turn 2, step 1: call read
  │ {"filePath":"a"}

turn 2, step 1: failed result
  │ no such file

turn 2, step 1: attached
  │ Attached:
  │
  │ [picture: 3 bytes]

tool read
  │ Reads.
  │
  │ {
  │   "type": "object"
  │ }"""


def page(release: str = "0.1", **changed: Any) -> str:
    rows = render_sent_request(SENT.model_copy(update=changed), release, None)
    return "\n".join(map(str, rows))


def test_the_page_has_the_sizes_of_all_parts_and_then_all_of_them() -> None:
    shown = page().split("\n")
    shown[1] = f"  AT, {shown[1].partition(', ')[2]}"
    assert "\n".join(row.rstrip() for row in shown) == PAGE


def test_a_difference_is_said_with_what_may_have_caused_it() -> None:
    assert "Holdfast 0.1 sent it" in page("0.2", rebuilt="f" * 64)
    assert "has changed since" in page(rebuilt="f" * 64) and "`holdfast log ses_1 --verify`" in page(rebuilt="f" * 64)
    assert "Earlier attempts sent another request." in page(attempts=3, same=False)
    assert "there is no answer" in page(answered=False, counted=None)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("", RequestChoice()),
        ("4", RequestChoice(step=4)),
        ("2.4", RequestChoice(turn=2, step=4)),
        ("title", RequestChoice(purpose=Purpose.TITLE)),
        ("gen_" + "0" * 26, RequestChoice(purpose=None, generation=GenerationId("gen_" + "0" * 26))),
    ],
)
def test_a_request_is_named_by_its_step_its_purpose_or_its_id(text: str, choice: RequestChoice) -> None:
    assert parse_request_choice(text) == choice


@pytest.mark.parametrize("text", ["2.", ".4", "-1", "step", "gen_1", "٣", "99999999999"])
def test_what_names_no_request_is_refused_with_what_does(text: str) -> None:
    with pytest.raises(UsageError, match=r"--prompt takes a step"):
        parse_request_choice(text)
