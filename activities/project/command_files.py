"""Slash commands in Markdown files: fields, then the template (opencode.md 11)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from activities.files.workspace import Workspace
from activities.project import frontmatter
from activities.project.config_checks import check_fields, field_error
from activities.project.folder_scan import MAX_ENTRIES, FolderScan
from activities.project.frontmatter import MarkdownFile
from activities.project.markdown_text import read_text, shown_path
from workflows.domain.commands.slash_command import RefusedCommand
from workflows.domain.config.config import CommandSettings
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.errors import ConfigError

MAX_COMMAND_FILES: Final = 500  # of one directory of configuration
_FOLDERS: Final = ("command", "commands")


class CommandFiles:
    """`refused`: those that cannot be used; `warnings`: fields without effect. Has the form of `MarkdownReader`."""

    def __init__(self) -> None:
        self.refused: list[RefusedCommand] = []
        self.warnings: list[str] = []

    def __call__(self, configuration: Path, *, trusted: bool, workspace: Workspace) -> Iterator[ConfigLayer]:
        """Raises ConfigError when there are too many, or a folder cannot be read."""
        scan, count = FolderScan(), 0
        for folder in _FOLDERS:
            above = configuration / folder
            for path in sorted(scan.files(above, (".md",), deep=True)):
                count += 1
                if count > MAX_COMMAND_FILES:
                    raise ConfigError(
                        f"{configuration}: at most {MAX_COMMAND_FILES} files of commands are read: remove some."
                    )
                name = shown_path(path.relative_to(above).with_suffix(""))
                yield from self._read(path, name, trusted, workspace)
        if scan.unreadable is not None:
            raise ConfigError(
                f"{shown_path(scan.unreadable)}: this folder of commands cannot be read, or links to nothing."
            )
        if scan.first_unread is not None:
            raise ConfigError(
                f"{shown_path(scan.first_unread)}: folders of commands hold at most {MAX_ENTRIES:,} entries: remove "
                "some."
            )

    def _read(self, path: Path, name: str, trusted: bool, workspace: Workspace) -> Iterator[ConfigLayer]:
        file = shown_path(path)
        try:
            found = frontmatter.parse(read_text(path, None if trusted else workspace.root), Path(file))
            yield self._layer(found, Path(file), name, trusted)
        except ConfigError as error:
            self.refused.append(RefusedCommand(name=name, why=str(error)))

    def _layer(self, found: MarkdownFile, file: Path, name: str, trusted: bool) -> ConfigLayer:
        named = found.fields.get("name", name)
        if not isinstance(named, str):
            raise field_error(file, ("name",), "it is a text")
        if not found.body:
            raise ConfigError(f"{file}: this command has no text behind its fields.")
        own = {key: value for key, value in found.fields.items() if key in CommandSettings.model_fields}
        tree: JsonObject = {"command": {named: {**own, "template": found.body}}}
        check_fields(tree, file, above=2)
        for key in found.fields.keys() - own.keys() - {"name"}:
            self.warnings.append(f"{file}: a command has no field {key!r}: it has no effect.")
        return ConfigLayer(file=str(file), trusted=trusted, tree=tree, markdown=True)
