"""What of a project's configuration a person may accept (security.md 12)."""

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import quote

from pydantic import JsonValue

from workflows.domain.config.fields import FieldPath, field_paths, is_within
from workflows.domain.config.limits import LIMITS
from workflows.domain.config.merge import is_local
from workflows.domain.config.references import replace_references
from workflows.domain.value import Value

# What each field does, in plain words: `{0}` stands for its `*`. Another kind of item needs one more row.
_EFFECTS: Final = tuple(
    (field_paths(field)[0], text)
    for field, text in (
        ("provider.*", "changes where requests to provider {0} go, and what they say"),
        ("mcp.*", "starts or reaches the server {0}, whose tools agents may use"),
        ("agent.*.options", "sends with the requests of agent {0}"),
        ("agent.*.prompt", "tells agent {0} what is outside of the project"),
        ("agent.*.permission", "judges the calls of agent {0}"),
        ("permission", "judges the calls of all agents"),
        ("instructions.*", "has models read what is outside of the project"),
        ("skills.paths.*", "offers skills from outside of the project"),
        ("skills.urls.*", "fetches skills from the net"),
        ("default_agent", "makes an agent work here that your own files know"),
        ("command.*.agent", "has an agent that your own files know do what /{0} says"),
        ("command.*.template", "runs where a person types /{0}"),
        ("*", "sets it"),
    )
)
_RULES: Final = (*field_paths("permission agent.*.permission"), *LIMITS)
_LISTS: Final = field_paths("instructions skills.paths skills.urls")  # their entries are named in place of a number
_HELD: Final = "it counts once a person has accepted it"
_PUBLISHED: Final = "what an organisation publishes starts and redirects nothing"


class UntrustedField(Value):
    """A field without effect, and why."""

    file: str
    field: str
    why: str


class ReferencedContent(Value):
    """What a reference to a file stood for, as a digest; empty if it could not be read."""

    reference: str
    digest: str


class TrustItem(Value):
    """A part of a project's file. `value`: as it is written, its references unresolved; `contents`: of the project's
    files that it refers to."""

    file: str
    path: FieldPath
    value: JsonValue
    contents: tuple[ReferencedContent, ...] = ()

    @property
    def is_of_project(self) -> bool:
        """What an organisation publishes is never accepted: it may be another thing tomorrow."""
        return is_local(self.file)

    @property
    def field(self) -> str:
        *above, last = self.path
        return f"{'.'.join(above)} {last}" if tuple(above) in _LISTS else ".".join(self.path)

    @property
    def untrusted(self) -> UntrustedField:
        return UntrustedField(file=self.file, field=self.field, why=_HELD if self.is_of_project else _PUBLISHED)

    @property
    def is_rule(self) -> bool:
        """Whether it is of rules or limits; else it starts or redirects something."""
        return is_within(self.path, _RULES)

    @property
    def effect(self) -> str:
        """What it does, in plain words, with its values; not escaped."""
        pattern, text = next(each for each in _EFFECTS if is_within(self.path, (each[0],)))
        names = [key for key, each in zip(self.path, pattern, strict=False) if each == "*"]
        return f"{text.format(*names)}: {'; '.join(_value_texts(self.value))}"


class Places(Value):
    """What absolute paths may begin with, so that digests are equal on every machine."""

    root: str
    home: str

    def digest(self, value: JsonValue) -> str:
        text = json.dumps(_ordered(value), ensure_ascii=False, separators=(",", ":"))
        for place, name in ((self.root, "."), (self.home, "~")):
            for written in (quote(place), json.dumps(place, ensure_ascii=False)[1:-1]):
                text = text.replace(f"{written}/", f"{name}/")
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TrustContent(Value):
    """What one question is about: what a project's files would start or redirect, in their order, and their `rules`
    and limits. `own_rules`: the digest of those in one's own files, beside which the project's are accepted."""

    places: Places = Places(root="/", home="/")
    starts: tuple[TrustItem, ...] = ()
    rules: tuple[TrustItem, ...] = ()
    own_rules: str = ""

    @property
    def items(self) -> tuple[TrustItem, ...]:
        """The starts, options of agents behind the others, then the rules."""
        return (*sorted(self.starts, key=lambda each: each.path[2:] == ("options",)), *self.rules)

    @cached_property
    def start_digests(self) -> dict[str, TrustItem]:
        return {self._digest(each): each for each in self.starts}

    @cached_property
    def rules_digest(self) -> str:
        """Of their order, too."""
        return self.places.digest([self._digest(each) for each in self.rules])

    @property
    def digest(self) -> str:
        """Of all that the project's files hold of it: equal on every machine."""
        return self.places.digest([*self.start_digests, self.rules_digest])

    @property
    def sealed(self) -> str:
        """The digest of all of it."""
        return self.places.digest([self.digest, self.own_rules])

    def find(self, item: TrustItem) -> TrustItem | None:
        """The same start with the same contents of its files, if it is here."""
        wanted = item.file, item.path, item.value
        return next((each for each in self.starts if (each.file, each.path, each.value) == wanted), None)

    def _digest(self, item: TrustItem) -> str:
        contents: list[JsonValue] = [[each.reference, each.digest] for each in item.contents]
        return self.places.digest([item.file, [*item.path], item.value, contents])


NOTHING: Final = TrustContent()


class TrustChange(NamedTuple):
    """What has become of an item: None where it was not, or is not any more."""

    before: TrustItem | None
    now: TrustItem | None

    @property
    def item(self) -> TrustItem:
        found = self.now or self.before
        assert found is not None
        return found


def find_changes(before: TrustContent, now: TrustContent) -> list[TrustChange]:
    known, found = ({(each.file, each.path): each for each in content.items} for content in (before, now))
    places = dict.fromkeys((*found, *known))
    return [TrustChange(known.get(at), found.get(at)) for at in places if known.get(at) != found.get(at)]


def _value_texts(value: JsonValue, below: FieldPath = ()) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _value_texts(each, (*below, key))
        return
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = replace_references(shown, lambda kind, name: "(hidden)" if kind == "config" else f"{{{kind}:{name}}}")
    yield f"{'.'.join(below)}: {shown}" if below else shown


def _ordered(value: JsonValue) -> JsonValue:
    """With the order of keys, which JSON does not promise."""
    if isinstance(value, dict):
        return [[key, _ordered(each)] for key, each in value.items()]
    return [_ordered(each) for each in value] if isinstance(value, list) else value
