"""The structure of a request to a model: layers, order, sources, tools, options and sizes; none of its sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

_MESSAGES: Final = ("messages", "tools")
_TAGS: Final = re.compile(
    r"^(?:Instructions from: (?P<source>.+)|<env>|<available_skills>|<available_references>)$", re.MULTILINE
)
_REMINDER: Final = re.compile(r"\s*<system-reminder>\n(.*?)\n?</system-reminder>\s*", re.DOTALL)
_SOURCES: Final = re.compile(r"^Instructions from: (.+)$", re.MULTILINE)
_SKILL: Final = re.compile(r"<name>(.*?)</name>")
_SKILL_FILE: Final = re.compile(r"<file>(.*?)</file>")
_FIELD: Final = re.compile(r"^\s*([A-Z][\w' ]+):", re.MULTILINE)


class RequestReader:
    """Reads requests of one run. `texts`: those of the repository, by what they are called, which it recognises."""

    def __init__(self, root: Path, home: Path, texts: Mapping[str, str]) -> None:
        self.places = ((str(root), "<repo>"), (str(home), "<home>"))
        self.texts = texts

    def structure(self, body: Mapping[str, Any]) -> dict[str, JsonValue]:
        tools = {tool["function"]["name"]: self._parameters(tool) for tool in body.get("tools", ())}
        options = {name: value for name, value in body.items() if name not in _MESSAGES}
        messages: list[JsonValue] = [self._message(message) for message in body["messages"]]
        return {"messages": messages, "tools": tools, "options": options}

    def _parameters(self, tool: Mapping[str, Any]) -> JsonValue:
        schema = tool["function"]["parameters"]
        required = schema.get("required", [])
        return sorted(name if name in required else f"{name}?" for name in schema.get("properties", {}))

    def _message(self, message: Mapping[str, Any]) -> dict[str, JsonValue]:
        role, texts = message["role"], list(self._texts(message.get("content") or ""))
        parts: list[JsonValue] = []
        for text in texts:
            parts += self._system(text) if role == "system" else self._parts(text)
        calls = [call["function"]["name"] for call in message.get("tool_calls") or ()]
        return {"role": role, "parts": parts, **({"calls": calls} if calls else {})}

    def _texts(self, content: str | Sequence[Mapping[str, Any]]) -> Iterator[str]:
        if isinstance(content, str):
            yield content
        else:
            yield from (part.get("text", f"<{part['type']}>") for part in content)

    def _system(self, text: str) -> list[JsonValue]:
        tags = list(_TAGS.finditer(text))
        ends = [tag.start() for tag in tags[1:]] + [len(text)]
        first = text[: tags[0].start()] if tags else text
        layers: list[JsonValue] = [{"prompt": self._called(first)}]
        return layers + [self._layer(tag, text[tag.end() : end]) for tag, end in zip(tags, ends, strict=True)]

    def _layer(self, tag: re.Match[str], text: str) -> JsonValue:
        if tag["source"]:
            return {"instructions": self._place(tag["source"]), "of": self._called(text)}
        if "skills" in tag[0]:
            return {"skills": list[JsonValue](_SKILL.findall(text))}
        if tag[0] == "<env>":
            return {"environment": list[JsonValue](_FIELD.findall(text.partition("</env>")[0]))}
        return {"tag": tag[0]}

    def _parts(self, text: str) -> Iterator[JsonValue]:
        """The reminders of a text, and the rest."""
        end = 0
        for reminder in _REMINDER.finditer(text):
            yield from self._plain(text[end : reminder.start()])
            yield {"reminder": self._reminded(reminder[1])}
            end = reminder.end()
        yield from self._plain(text[end:])

    def _reminded(self, text: str) -> JsonValue:
        sources: list[JsonValue] = [self._place(source) for source in _SOURCES.findall(text)]
        return {"instructions": sources} if sources else self._called(text)

    def _plain(self, text: str) -> Iterator[JsonValue]:
        if not text.strip():
            return
        files = [self._place(file) for file in _SKILL_FILE.findall(text)]
        yield {"text": self._called(text), **({"files": list[JsonValue](files)} if files else {})}

    def _called(self, text: str) -> JsonValue:
        """The names of the repository's texts that it holds, in their order; else how long it is."""
        held = sorted((text.find(known), name) for name, known in self.texts.items() if known in text)
        return [name for _, name in held] or len(text)

    def _place(self, path: str) -> str:
        for known, name in self.places:
            path = path.replace(known, name)
        return path
