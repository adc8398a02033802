"""Pictures and documents behind a summary that a provider's refusal has caused."""

from activities.model.bound_thoughts import join_entries
from activities.model.input_messages import convert_entries
from activities.model.port import ModelFacts
from activities.store.transcript_cache import without_media
from tests.activities.model.test_compaction_prompt import answer, call
from tests.activities.model.test_hostile_conversation import prompt
from workflows.domain.ids import MessageId
from workflows.domain.messages import AssistantMessage, FilePart, ToolPart, UserMessage


def test_words_stand_for_media_up_to_the_newest_answer_then() -> None:
    names = ("msg_1", "msg_2", "msg_3")
    answers = tuple(answer(call("a picture")).model_copy(update={"id": MessageId(name)}) for name in names)

    picture = prompt(FilePart(mime="image/png", url="data:image/png;base64,AAAA", filename="a.png"))
    found = list(without_media((picture, *answers, picture), MessageId("msg_2")))

    assert [entry.without_files for entry in found if isinstance(entry, UserMessage)] == [True, False]
    words = str(join_entries("", convert_entries(tuple(found[:1]), "a/b", ModelFacts(images=True))))
    assert "[Not attached: a.png (image/png) was left out to make room.]" in words and "AAAA" not in words
    parts = [part for entry in found if isinstance(entry, AssistantMessage) for part in entry.parts]
    outcomes = [part.outcome for part in parts if isinstance(part, ToolPart)]
    assert [each and (each.output, len(each.attachments)) for each in outcomes] == [
        ("a picture\n\n[Not attached: it was left out to make room.]", 0),
        ("a picture\n\n[Not attached: it was left out to make room.]", 0),
        ("a picture", 1),
    ]
