"""The project's own files that its configuration refers to: their contents are accepted with it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.files.real_paths import real_path
from activities.files.workspace import Workspace
from activities.project.config_references import (
    content_digest,
    read_reference,
    referenced_file,
    written_reference,
)
from workflows.domain.config.fields import FieldPath, JsonObject, field_paths, is_within, value_at, with_value_at
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.references import (
    FILE_OPTIONS,
    ReferenceKind,
    accept_file,
    has_reference,
    iter_texts,
    references_of,
    replace_references,
)
from workflows.domain.config.trust_items import ReferencedContent, TrustItem
from workflows.domain.errors import ConfigError

_PROMPTS: Final = field_paths("agent.*.prompt")  # they are read already
_VARIABLE: Final = re.compile(r"\{env:[^}]*\}")
Pinned = Callable[[FieldPath, str], str]  # a text in place of that at the path


def with_contents(item: TrustItem, workspace: Workspace) -> TrustItem:
    """With what the project's files hold now; the person's own files are theirs to change."""
    return item.model_copy(update={"contents": tuple(dict.fromkeys(_contents(item, workspace)))})


def pin_contents(layers: Sequence[ConfigLayer], items: Iterable[TrustItem], home: Path) -> tuple[ConfigLayer, ...]:
    """A reference then stands for what was accepted, or for nothing: its file may change while a turn runs."""
    trees = [layer.tree for layer in layers]
    for item in items:
        digests = {each.reference: each.digest for each in item.contents}
        for number, layer in enumerate(layers):
            if digests and layer.file == item.file and not is_within(item.path, _PROMPTS):
                trees[number] = _pinned_tree(trees[number], item, digests, home)
    return tuple(layer.model_copy(update={"tree": tree}) for layer, tree in zip(layers, trees, strict=True))


def _contents(item: TrustItem, workspace: Workspace) -> Iterator[ReferencedContent]:
    for at, text in iter_texts(item.value, item.path):
        for kind, name in references_of(text):
            if _is_of_project(referenced_file(kind, name), workspace.root):
                yield ReferencedContent(reference=written_reference(kind, name), digest=_digest(kind, name))
        if is_within(at, FILE_OPTIONS):
            yield from _named_file(text, workspace)


def _named_file(text: str, workspace: Workspace) -> Iterator[ReferencedContent]:
    """A variable's is the person's; a path that is made of references may lead anywhere, and is never read."""
    path = _expanded(text, workspace.home)
    if has_reference(text):
        yield from [ReferencedContent(reference=text, digest="")] if not _VARIABLE.fullmatch(text) else []
    elif path.is_absolute() and _is_of_project(path, workspace.root):
        yield ReferencedContent(reference=text, digest=_digest("file", str(path)))


def _expanded(text: str, home: Path) -> Path:
    return home / text[2:].lstrip("/") if text.startswith("~/") else Path(text)


def _is_of_project(file: Path | None, root: Path) -> bool:
    """By its name, or where a link leads."""
    return file is not None and any(each.is_relative_to(root) for each in (file, real_path(file)))


def _digest(kind: ReferenceKind, name: str) -> str:
    try:
        return content_digest(read_reference(kind, name))
    except ConfigError:
        return ""


def _pinned_tree(tree: JsonObject, item: TrustItem, digests: dict[str, str], home: Path) -> JsonObject:
    def pinned(kind: ReferenceKind, name: str) -> str:
        digest = digests.get(written_reference(kind, name))
        return written_reference(kind, name) if digest is None else f"{{accepted:{digest}:{kind}:{name}}}"

    def pinned_text(at: FieldPath, text: str) -> str:
        if text in digests and is_within(at, FILE_OPTIONS):
            return accept_file(str(_expanded(text, home)), digests[text])
        return replace_references(text, pinned)

    return with_value_at(tree, item.path, _replaced(value_at(tree, item.path), item.path, pinned_text))


def _replaced(value: JsonValue, at: FieldPath, pinned: Pinned) -> JsonValue:
    match value:
        case dict():
            return {key: _replaced(item, (*at, key), pinned) for key, item in value.items()}
        case list():
            return [_replaced(item, at, pinned) for item in value]
        case str():
            return pinned(at, value)
    return value
