"""What of a project's configuration takes effect once a person has accepted it (security.md 12)."""

import hashlib
import json
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from workflows.domain.config.fields import FieldPath, field_paths, is_within
from workflows.domain.config.merge import is_local
from workflows.domain.config.references import iter_texts, replace_references
from workflows.domain.value import Value

# What each field does, in plain words: `{0}` and on stand for its `*`, `{value}` for its value. The first row that fits
# counts; another kind of item needs one more row.
_EFFECTS: Final = tuple(
    (field_paths(field)[0], text)
    for field, text in (
        ("provider.*.options.baseURL", "sends the requests of provider {0} to {value}"),
        ("provider.*.options.endpoint", "sends the requests of provider {0} to {value}"),
        ("provider.*.options.proxy", "sends the requests of provider {0} through {value}"),
        ("provider.*.options.apiKey", "asks provider {0} with the key {value}"),
        ("provider.*.options.headers.*", "sends provider {0} the header {1}: {value}"),
        ("provider.*.options.*", "sets {1} of provider {0} to {value}"),
        ("provider.*.models.*.headers.*", "sends model {0}/{1} the header {2}: {value}"),
        ("provider.*.models.*.options.*", "sends model {0}/{1} the option {2}: {value}"),
        ("provider.*.models.*.*", "sets {2} of model {0}/{1} to {value}"),
        ("provider.*.npm", "speaks the protocol of {value} with provider {0}"),
        ("model", "asks the model {value}"),
        ("small_model", "asks the model {value} for titles"),
        ("default_agent", "makes {value} the agent that works here, which may do more than yours"),
        ("agent.*.model", "has agent {0} ask the model {value}"),
        ("agent.*.options.*", "sends the models of agent {0} the option {1}: {value}"),
        ("agent.*.mode", "changes who gives work to agent {0}, by the mode {value}"),
        ("agent.*.steps", "lets agent {0} take {value} steps in a turn"),
        ("agent.*.disable", "brings back agent {0}, which you have disabled"),
        ("agent.*.hidden", "shows agent {0}, which you have hidden"),
        ("tool_output.*", "gives the model more of a tool's output: {0} becomes {value}"),
        ("experimental.continue_loop_on_deny", "lets a turn go on after you have rejected something"),
        ("agent.*.prompt", "tells agent {0} what is in {value}"),
        ("agent.*.permission.*.*", "{1} `{2}` for agent {0}"),
        ("agent.*.permission.*", "{1} for agent {0}"),
        ("permission.*.*", "{0} `{1}`"),
        ("permission.*", "{0}"),
        ("instructions.*", "has models read {value}, which is outside of the project"),
        ("skills.urls", "fetches skills from {value}"),
        ("skills.paths.*", "offers the skills in {value}, which is outside of the project"),
        ("command.*.agent", "has agent {value} do what /{0} says, which may do more than yours"),
        ("command.*.template", "runs {value} where a person types /{0}"),
        ("subagent_depth", "lets subagents start others, {value} levels deep"),
        ("holdfast.larger_model", "lets the model {value} take over a conversation that has grown too long"),
    )
)
_EFFECTS_OF_NULL: Final = tuple(
    (field_paths(field)[0], text)
    for field, text in (
        ("agent.*.mode", "gives agent {0} its default mode"),
        ("agent.*.steps", "lets agent {0} take any number of steps in a turn"),
        ("agent.*.options.*", "sends the models of agent {0} the option {1} without a value"),
        ("provider.*.models.*.options.*", "sends model {0}/{1} the option {2} without a value"),
    )
)
_RULES: Final = {"allow": "allows {} without asking", "ask": "asks about {}, which is denied otherwise"}
_LISTS: Final = field_paths("instructions skills.paths")  # their entries are named in place of a number


class UntrustedField(Value):
    """A field without effect, and why."""

    file: str
    field: str
    why: str


class ReferencedContent(Value):
    """What a reference to a file stood for, as a digest; empty if it could not be read."""

    reference: str
    digest: str


class TrustLeaf(NamedTuple):
    """One value of an item."""

    file: str
    path: FieldPath
    value: JsonValue

    @property
    def field(self) -> str:
        return field_text(self.path)

    @property
    def effect(self) -> str:
        """What it allows, in plain words; not escaped."""
        shown = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        shown = "the default" if self.value is None else shown
        shown = replace_references(shown, lambda kind, name: "(hidden)" if kind == "config" else f"{{{kind}:{name}}}")
        for pattern, text in _EFFECTS if self.value is not None else (*_EFFECTS_OF_NULL, *_EFFECTS):
            if len(pattern) <= len(self.path) and is_within(self.path, (pattern,)):
                names = [key for key, each in zip(self.path, pattern, strict=False) if each == "*"]
                below = self.path[len(pattern) :]
                names[-1:] = [".".join((*names[-1:], *below))]
                text = text.format(*names, value=shown)
                if "permission" not in pattern:
                    return text
                return _RULES[shown].format(text) if shown in _RULES else f"{shown}: {text}"
        return f"sets {self.field} to {shown}"


class TrustItem(Value):
    """A part of a project's file. `value`: as it is written, its references unresolved; `contents`: of the project's
    files that it refers to. `why` it has no effect until then."""

    file: str
    path: FieldPath
    value: JsonValue
    why: str
    contents: tuple[ReferencedContent, ...] = ()

    @property
    def untrusted(self) -> UntrustedField:
        return UntrustedField(file=self.file, field=field_text(self.path), why=self.why)

    @property
    def is_of_project(self) -> bool:
        """What an organisation publishes is never accepted: it may be another thing tomorrow."""
        return is_local(self.file)

    def leaves(self) -> Iterator[TrustLeaf]:
        return (TrustLeaf(self.file, path, value) for path, value in _leaves(self.value, self.path))


class TrustContent(Value):
    """What one question is about: all items of a directory, in the order of its files."""

    items: tuple[TrustItem, ...] = ()

    @property
    def digest(self) -> str:
        parts = [
            [item.file, item.path, item.value, [(each.reference, each.digest) for each in item.contents]]
            for item in self.items
        ]
        text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def find(self, item: TrustItem) -> TrustItem | None:
        """The same item with the same contents of its files, if it is here."""
        same = (each for each in self.items if (each.file, each.path, each.value) == (item.file, item.path, item.value))
        return next(same, None)

    def leaves(self) -> Iterator[TrustLeaf]:
        for item in self.items:
            yield from item.leaves()


NOTHING: Final = TrustContent()


class TrustChange(NamedTuple):
    """`before`: another value that was accepted at the same place; `content`: only that of a file has changed."""

    kind: Literal["added", "changed", "removed"]
    leaf: TrustLeaf
    before: TrustLeaf | None = None
    content: bool = False


def find_changes(before: TrustContent, now: TrustContent) -> Iterator[TrustChange]:
    """What is new, changed, or gone."""
    known, found = (dict(_by_place(content)) for content in (before, now))
    for place, (leaf, contents) in found.items():
        if place not in known:
            yield TrustChange("added", leaf)
        elif leaf.value != known[place][0].value:
            yield TrustChange("changed", leaf, known[place][0])
        elif contents != known[place][1]:
            yield TrustChange("changed", leaf, known[place][0], content=True)
    yield from (TrustChange("removed", leaf) for place, (leaf, _) in known.items() if place not in found)


def field_text(path: FieldPath) -> str:
    listed = path[:-1] in _LISTS
    return f"{'.'.join(path[:-1])} {path[-1]}" if listed else ".".join(path)


def _by_place(
    content: TrustContent,
) -> Iterator[tuple[tuple[str, FieldPath], tuple[TrustLeaf, list[ReferencedContent]]]]:
    for item in content.items:
        for leaf in item.leaves():
            texts = [text for _, text in iter_texts(leaf.value)]
            yield (leaf.file, leaf.path), (leaf, [c for c in item.contents if any(c.reference in t for t in texts)])


def _leaves(value: JsonValue, path: FieldPath) -> Iterator[tuple[FieldPath, JsonValue]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value
