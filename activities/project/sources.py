"""The variables of a shell that say where configuration is, and what they hold themselves (opencode.md 14.1)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.project import jsonc, positions
from activities.project.files import check
from activities.project.references import grounded, secrets_of
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import modern
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError

CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
PERMISSION: Final = "OPENCODE_PERMISSION"


def read_sources(environ: Mapping[str, str], *, home: Path, folder: Path) -> ConfigSources:
    """What a shell says of its configuration; `folder` is the user's own configuration folder, paths are absolute.

    References of contents to files start at the current directory. Raises ConfigError for contents that are no
    configuration, or that hold a secret: they are stored with the session.
    """
    content, permission = environ.get(CONTENT), environ.get(PERMISSION)
    return ConfigSources(
        home=str(home),
        folder=str(folder),
        file=_path(environ, "OPENCODE_CONFIG"),
        directory=_path(environ, "OPENCODE_CONFIG_DIR"),
        content=_layer(CONTENT, content, home) if content else None,
        permission=_layer(PERMISSION, f'{{"permission": {permission}\n}}', home) if permission else None,
        disable_project_config=_is_on(environ, "OPENCODE_DISABLE_PROJECT_CONFIG"),
        disable_claude_code=_is_on(environ, "OPENCODE_DISABLE_CLAUDE_CODE"),
        disable_claude_code_prompt=_is_on(environ, "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT"),
    )


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").lower() in ("1", "true")


def _path(environ: Mapping[str, str], name: str) -> str | None:
    path = environ.get(name) or None
    if path is not None and not path.isprintable():  # bytes that are no UTF-8 are not, either
        raise ConfigError(f"{name}={path!r} holds characters that cannot be shown: give that place another name.")
    return path


def _layer(name: str, text: str, home: Path) -> JsonObject:
    """The configuration that a variable holds, checked as a file is; its references to files are made absolute."""
    variable = Path(name)
    tree = modern(jsonc.parse(text, variable))
    if name == PERMISSION and tree.keys() != {"permission"}:
        raise ConfigError(f"{name}: the variable holds one value, the object or the word that `permission` may be.")
    check(tree, text, variable)
    for path, _ in positions.doubled(text):
        raise ConfigError(
            f"{name}: the key {'.'.join(map(str, path))!r} is there twice, and one of them would not count."
        )
    for field in secrets_of(tree):
        raise ConfigError(
            f"{name}: the field {'.'.join(field)!r} holds a secret, and the variable's value is stored with the "
            "session. Write {env:NAME} or {file:path} in its place, or run `holdfast auth login`."
        )
    try:
        return grounded(tree, variable.absolute(), home)
    except FileNotFoundError as error:
        raise ConfigError(f"{name}: the current directory is gone: change into another one.") from error
