"""Pictures and documents behind a summary that a provider's refusal has caused."""

from activities.store.transcript_cache import without_media
from tests.activities.model.test_compaction_prompt import answer, call
from workflows.domain.ids import MessageId
from workflows.domain.messages import AssistantMessage, ToolPart


def test_words_stand_for_media_up_to_the_newest_answer_then() -> None:
    names = ("msg_1", "msg_2", "msg_3")
    answers = tuple(answer(call("a picture")).model_copy(update={"id": MessageId(name)}) for name in names)

    found = list(without_media(answers, MessageId("msg_2")))

    parts = [part for entry in found if isinstance(entry, AssistantMessage) for part in entry.parts]
    outcomes = [part.outcome for part in parts if isinstance(part, ToolPart)]
    assert [each and (each.output, len(each.attachments)) for each in outcomes] == [
        ("a picture\n\n[Not attached: it was left out to make room.]", 0),
        ("a picture\n\n[Not attached: it was left out to make room.]", 0),
        ("a picture", 1),
    ]
