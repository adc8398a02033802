"""Prompts in OpenCode's shapes, whatever their parts."""

from worker.opencode.import_file import ForeignPart
from worker.opencode.shapes import model_shape, prompt_part_shape, text_shape
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import AgentPart, FilePart, PromptPart, SubtaskPart, TextPart

SESSION, MESSAGE = SessionId("ses_1"), MessageId("msg_019abcdef012ABCDEFGHIJKLMN")
PARTS: tuple[PromptPart, ...] = (
    TextPart(text="Look."),
    FilePart(mime="text/plain", url="file:///p/a.txt", filename="a.txt", note="for models"),
    AgentPart(name="explore"),
    SubtaskPart(agent="explore", description="look", prompt="Where is it?", model="scripted/model"),
    *(TextPart(text="More.") for _ in range(300)),
)


def test_each_part_of_a_prompt_has_opencodes_shape() -> None:
    shown = [prompt_part_shape(SESSION, MESSAGE, *each).dump() for each in enumerate(PARTS[:4])]

    assert {(each.pop("sessionID"), each.pop("messageID")) for each in shown} == {(SESSION, MESSAGE)}
    assert [{name: each[name] for name in each if name != "id"} for each in shown] == [
        {"type": "text", "text": "Look."},
        {"type": "file", "mime": "text/plain", "url": "file:///p/a.txt", "filename": "a.txt"},
        {"type": "agent", "name": "explore"},
        {
            "type": "subtask",
            "agent": "explore",
            "description": "look",
            "prompt": "Where is it?",
            "model": {"providerID": "scripted", "modelID": "model"},
        },
    ]


def test_a_text_names_its_phase_as_opencode_stores_it() -> None:
    part = TextPart(text="Looking.", phase="commentary")
    shown = text_shape(SESSION, MESSAGE, PartId("prt_1"), part, 1).dump()

    assert shown["metadata"] == {"openai": {"phase": "commentary"}}
    assert ForeignPart.model_validate(shown).phase == "commentary"
    assert "metadata" not in text_shape(SESSION, MESSAGE, PartId("prt_1"), TextPart(text="Done."), 1).dump()
    assert ForeignPart.model_validate(shown | {"metadata": ["odd"]}).phase is None


def test_the_ids_of_the_parts_ascend_in_their_order() -> None:
    ids = [prompt_part_shape(SESSION, MESSAGE, *each).id for each in enumerate(PARTS)]
    assert ids == sorted(set(ids)) and {len(each) for each in ids} == {len(MESSAGE)}


def test_a_model_names_its_variant_only_if_it_has_one() -> None:
    assert model_shape("a/b/c").dump() == {"providerID": "a", "modelID": "b/c"}
    assert model_shape("a/b", "high").dump() == {"providerID": "a", "modelID": "b", "variant": "high"}


def test_what_no_person_wrote_is_synthetic() -> None:
    told = prompt_part_shape(SESSION, MESSAGE, 0, TextPart(text="<task>"), synthetic=True)
    assert told.dump()["synthetic"] is True
