"""The project's own files that its configuration refers to: their contents are accepted with it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.files.real_paths import real_path
from activities.project.config_references import (
    content_digest,
    read_reference,
    referenced_file,
    written_reference,
)
from workflows.domain.config.fields import JsonObject, value_at, with_value_at
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.references import ReferenceKind, iter_texts, references_of, replace_references
from workflows.domain.config.trust_items import ReferencedContent, TrustItem
from workflows.domain.errors import ConfigError

_FILE_FIELDS: Final = ("caFile", "keyFilename")  # they name files without a reference


Pinned = Callable[[ReferenceKind, str], str]


def with_contents(item: TrustItem, root: Path) -> TrustItem:
    """With what the files of the project `root` hold now; the person's own files are theirs to change."""
    return item.model_copy(update={"contents": tuple(dict.fromkeys(_contents(item, root)))})


def pin_contents(layers: Sequence[ConfigLayer], items: Iterable[TrustItem]) -> tuple[ConfigLayer, ...]:
    """A reference then stands for what was accepted, or for nothing: its file may change while a turn runs."""
    trees = [layer.tree for layer in layers]
    for item in items:
        digests = {each.reference: each.digest for each in item.contents}
        for number, layer in enumerate(layers):
            if digests and layer.file == item.file and item.path[-1] != "prompt":  # prompts are read already
                trees[number] = _pinned_tree(trees[number], item, digests)
    return tuple(layer.model_copy(update={"tree": tree}) for layer, tree in zip(layers, trees, strict=True))


def _contents(item: TrustItem, root: Path) -> Iterator[ReferencedContent]:
    for at, text in iter_texts(item.value, item.path):
        for kind, name in references_of(text):
            if _is_of_project(referenced_file(kind, name), root):
                yield ReferencedContent(reference=written_reference(kind, name), digest=_digest(kind, name))
        if at[-1] in _FILE_FIELDS and _is_of_project(Path(text), root):
            yield ReferencedContent(reference=text, digest=_digest("file", text))


def _is_of_project(file: Path | None, root: Path) -> bool:
    """By its name, or where a link leads."""
    return file is not None and any(each.is_relative_to(root) for each in (file, real_path(file)))


def _digest(kind: ReferenceKind, name: str) -> str:
    try:
        return content_digest(read_reference(kind, name))
    except ConfigError:
        return ""


def _pinned_tree(tree: JsonObject, item: TrustItem, digests: dict[str, str]) -> JsonObject:
    def pinned(kind: ReferenceKind, name: str) -> str:
        digest = digests.get(written_reference(kind, name))
        return written_reference(kind, name) if digest is None else f"{{accepted:{digest}:{kind}:{name}}}"

    return with_value_at(tree, item.path, _replaced(value_at(tree, item.path), pinned))


def _replaced(value: JsonValue, pinned: Pinned) -> JsonValue:
    match value:
        case dict():
            return {key: _replaced(item, pinned) for key, item in value.items()}
        case list():
            return [_replaced(item, pinned) for item in value]
        case str():
            return replace_references(value, pinned)
    return value
