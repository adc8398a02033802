"""A prompt as a value: OpenCode's forms of parts, and what is sealed of it."""

from typing import Any

import pytest

from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import UsageError
from workflows.domain.ids import PartId, SessionId
from workflows.domain.mentions import mentioned_names
from workflows.domain.messages import AgentPart, FilePart, SubtaskPart, TaskEnd, TextPart
from workflows.domain.output_format import OutputFormat
from workflows.domain.prompt import Prompt, PromptContent, PromptMode

PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "Look at this."},
    {"type": "file", "mime": "text/plain", "url": "file:///p/a.txt", "filename": "a.txt"},
    {"type": "agent", "name": "explore"},
    {"type": "subtask", "agent": "explore", "description": "look", "prompt": "Where is it?", "command": "review"},
    {"type": "text", "text": "Then fix it."},
]


def test_a_name_may_end_where_a_script_without_blanks_begins() -> None:
    texts = ("@explore帮我查找", "请@explore、それから@探し屋に", "@general에게", "user@explore帮", "@exploreé")
    found = [mentioned_names(PromptContent(parts=(TextPart(text=text),))) for text in texts]

    assert found == [
        ("explore帮我查找", "explore"),
        ("explore、それから@探し屋に", "explore"),
        ("general에게", "general"),
        (),
        ("exploreé",),
    ]


def test_parts_have_opencodes_forms() -> None:
    content = PromptContent.model_validate({"parts": PARTS, "system": "Be brief."})

    assert [type(part) for part in content.parts] == [TextPart, FilePart, AgentPart, SubtaskPart, TextPart]
    assert content.model_dump(mode="json", exclude_none=True) == {"parts": PARTS, "system": "Be brief."}
    assert content.text == "Look at this.\n\nWhere is it?\n\nThen fix it."


@pytest.mark.parametrize("part", [{"type": "image"}, {"type": "file", "mime": "text/plain"}, {"text": "no type"}])
def test_other_forms_are_refused(part: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="parts"):
        PromptContent.model_validate({"parts": [part]})


def test_only_a_prompt_for_a_whole_turn_opens_its_own() -> None:
    own: dict[str, Any] = {
        "system": "Be brief.",
        "format": OutputFormat(json_schema={}),
        "limits": BudgetLimits(steps=3),
    }
    assert all(Prompt.of_text("Go.", **{name: value}).opens_turn for name, value in own.items())
    assert not Prompt.of_text("Go.", agent="coder", variant="high").opens_turn


def test_a_subagents_work_with_attached_files_is_refused_instead_of_losing_them() -> None:
    file = FilePart(mime="text/plain", url="file:///p/a.txt", filename="a.txt")
    with pytest.raises(UsageError, match=r"name them in its text, as in `@notes\.md`"):
        Prompt.of_text("Read it.", files=(file,), subtask="explore")


def test_only_contents_are_sealed_not_the_names_that_events_tell() -> None:
    prompt = Prompt.of_text("Go.", agent="coder", model="scripted/model", mode=PromptMode.QUEUE)
    assert prompt.content == PromptContent(parts=(TextPart(text="Go."),))
    assert prompt.content.model_dump(exclude_none=True) == {"parts": ({"type": "text", "text": "Go."},)}


def test_what_came_through_a_pipe_refers_to_nothing_and_shifts_no_place() -> None:
    typed = Prompt.of_text("@a.py @b.py @c.py")
    piped = typed.model_copy(update={"piped_at": ((0, 5), (12, 17))})
    assert [*typed.references] == [1, 2, 3] and piped.references == {2: typed.references[2]}
    assert mentioned_names(typed) == ("a.py", "b.py", "c.py") and mentioned_names(piped.content) == ("b.py",)


def test_a_result_of_a_background_task_refers_to_no_file_and_opens_no_turn_of_its_own() -> None:
    call, child = PartId("prt_1"), SessionId("ses_2")
    end = TaskEnd(call=call, child=child, agent="explore", title="look", failed=False)
    told = Prompt(parts=(TextPart(text="See @a.txt"),), task_end=end)
    assert told.references == {} and Prompt.of_text("See @a.txt").references
    assert not told.opens_turn and told.mode is PromptMode.STEER
