"""What a model is sent before the conversation: instructions and tools."""

import json

from tests.activities.model.model_rig import Open
from worker.scripted.script import ScriptedAnswer

MOST = 4_100  # tokens of four characters
TOOLS = {"bash", "edit", "glob", "grep", "plan_enter", "question", "read", "task", "todowrite", "wait"}
TOOLS |= {"webfetch", "write"}


async def test_instructions_and_tools_of_build_leave_room_for_the_conversation(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="Hello.")) as model:
        await model.generate()
        system = model.sent["messages"][0]["content"].replace(str(model.rig.project), "/home/ann/project")
        pieces = {"system prompt": system, **{each["function"]["name"]: each for each in model.sent["tools"]}}
    tokens = {name: len(json.dumps(piece, ensure_ascii=False)) / 4 for name, piece in pieces.items()}

    print("\n".join(f"{count:6.0f}  {name}" for name, count in {**tokens, "together": sum(tokens.values())}.items()))
    assert pieces.keys() - {"system prompt"} == TOOLS
    assert sum(tokens.values()) <= MOST
