"""Subagents that a prompt mentions: `@explore` (opencode.md 4.6, 8)."""

import re
from collections.abc import Collection
from typing import Final

from workflows.domain.file_references import SENTENCE_ENDS, WITHOUT_BLANKS
from workflows.domain.ids import MessageId, TurnId
from workflows.domain.messages import AgentPart, FilePart, Transcript, UserMessage
from workflows.domain.prompt import PromptContent

_NAME_ENDS: Final = re.compile(f"[{WITHOUT_BLANKS}]")


def mentioned_names(content: PromptContent, files: Collection[int] = ()) -> tuple[str, ...]:
    """What may be the name of an agent, each once. `files`: the places of references that name files."""
    found: list[str] = []
    for place, reference in content.references.items():
        match reference:
            case AgentPart(name=name):
                found.append(name)
            case FilePart():
                continue
            case _ if place not in files:
                found += (reference.path.rstrip(SENTENCE_ENDS), _NAME_ENDS.split(reference.path, maxsplit=1)[0])
    return tuple(name for name in dict.fromkeys(found) if name)


def newest_mentions(transcript: Transcript, turn: TurnId) -> dict[str, MessageId]:
    """The subagents that the turn's newest prompts mention, those that one step has taken: a newer one ends their
    effect."""
    prompts = [entry for entry in transcript if isinstance(entry, UserMessage) and entry.turn == turn]
    newest = (each for each in prompts if each.step == prompts[-1].step)
    return {agent: each.id for each in newest for agent in each.mentions}
