"""Files with prompts of agents and templates of commands, which JSON names as `{file:path}`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.real_paths import real_path
from activities.project.config_references import check_accepted, written_reference
from activities.project.jsonc import read_text
from workflows.domain.config.fields import FieldPath, value_at, with_value_at, without_path
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.references import ReferenceKind, replace_references
from workflows.domain.config.trust_items import NOTHING, TrustContent, TrustItem
from workflows.domain.errors import ConfigError

MAX_PROMPT_CHARS: Final = 64 * 1024  # with all its files


class ReadPrompts(NamedTuple):
    """The layers with the texts of prompts; what a project's files may not read; what is not looked up."""

    layers: tuple[ConfigLayer, ...]
    items: tuple[TrustItem, ...]
    warnings: tuple[str, ...]


def read_prompts(
    layers: Sequence[ConfigLayer],
    root: Path,
    table: str = "agent",
    field: str = "prompt",
    accepted: TrustContent = NOTHING,
) -> ReadPrompts:
    """Resolve the references in the entries of a `table` in JSON; text in Markdown files contains none.

    Raises ConfigError for a missing file, and for one of the project that holds something else than was `accepted`.
    """
    read = [_read_layer(layer, root, (table, field), accepted) for layer in layers]
    return ReadPrompts(
        tuple(each.layers[0] for each in read),
        tuple(held for each in read for held in each.items),
        tuple(warning for each in read for warning in each.warnings),
    )


def _read_layer(layer: ConfigLayer, root: Path, of: tuple[str, str], accepted: TrustContent) -> ReadPrompts:
    tree, items, warnings = layer.tree, list[TrustItem](), list[str]()
    table, field = of
    entries = tree.get(table)
    for name in entries if isinstance(entries, dict) and not layer.markdown else ():
        path: FieldPath = (table, name, field)
        if not isinstance(written := value_at(tree, path), str):
            continue
        item = TrustItem(file=layer.file, path=path, value=written)
        files = _Files(layer, ".".join(path), root, accepted.find(item))
        text = replace_references(written, files.look_up)
        if len(text) > MAX_PROMPT_CHARS:
            raise ConfigError(f"{layer.file}: {files.field} has more than {MAX_PROMPT_CHARS:,} characters.")
        if files.variables:
            warnings.append(f"{layer.file}: {', '.join(files.variables)} in {files.field!r} is not looked up.")
        if files.outside:
            items.append(item)
            tree = without_path(tree, path)
        elif text != written:
            tree = with_value_at(tree, path, text)
    read = layer if tree is layer.tree else layer.model_copy(update={"tree": tree})
    return ReadPrompts((read,), tuple(items), tuple(warnings))


class _Files:
    """Those that one prompt names."""

    def __init__(self, layer: ConfigLayer, field: str, root: Path, accepted: TrustItem | None) -> None:
        self.layer = layer
        self.field = field
        self.root = root
        self.anywhere = layer.trusted or accepted is not None
        self.digests = {each.reference: each.digest for each in accepted.contents} if accepted else {}
        self.outside = False
        self.variables: list[str] = []

    def look_up(self, kind: ReferenceKind, name: str) -> str:
        if kind != "file":  # a value of a variable would be stored with the turn
            self.variables.append(f"{{{kind}:{name}}}")
            return self.variables[-1]
        real = real_path(Path(name))
        if not (self.anywhere or real.is_relative_to(self.root)):
            self.outside = True
            return ""
        text = read_text(Path(name), real)
        if text is None:
            raise ConfigError(f"{self.layer.file}: there is no file {name!r}, though {self.field} is said to be in it.")
        check_accepted(text.strip(), self.digests.get(written_reference(kind, name)), name)
        return text.strip()
