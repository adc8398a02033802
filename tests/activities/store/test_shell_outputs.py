"""The outputs of a prompt's commands in its text."""

from activities.store.shell_outputs import with_outputs
from tests.activities.model.test_hostile_conversation import answer, call, prompt
from workflows.domain.ids import MessageId
from workflows.domain.messages import AssistantMessage, ShellPart, TextPart, UserMessage


def commanded(name: str) -> UserMessage:
    parts = TextPart(text="Look: !`ls`"), ShellPart(part=0, start=6, end=11, command="ls")
    return prompt(*parts).model_copy(update={"id": MessageId(name)})


def ran(output: str) -> AssistantMessage:
    made = answer(call(output).model_copy(update={"provider_id": "msg_0_1"}))
    return made.model_copy(update={"body": made.body.model_copy(update={"for_prompt": True})})


def test_each_prompt_has_its_own_outputs_and_those_of_a_deleted_one_stand_nowhere() -> None:
    deleted = prompt(TextPart(text="Deleted."))

    shown = with_outputs((commanded("msg_1"), ran("a.py"), deleted, ran("secret"), commanded("msg_2"), ran("b.py")))

    assert [entry.text for entry in shown if isinstance(entry, UserMessage)] == ["Look: a.py", "Deleted.", "Look: b.py"]
    assert len(shown) == 3
