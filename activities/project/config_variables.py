"""The environment variables that locate or hold configuration (opencode.md 14.1)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.project import jsonc
from activities.project.config_checks import check_fields
from activities.project.config_references import detach_from_file
from activities.project.config_secrets import find_secrets
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import normalize_permissions
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError

CONTENT_VARIABLE: Final = "OPENCODE_CONFIG_CONTENT"
PERMISSION_VARIABLE: Final = "OPENCODE_PERMISSION"


def read_sources(environ: Mapping[str, str], *, home: Path, folder: Path) -> ConfigSources:
    """`folder`: the user's configuration folder. Paths are absolute, file references in contents relative to the
    current directory.

    Raises ConfigError for invalid contents, or a secret: they are stored with the session.
    """
    content, permission = environ.get(CONTENT_VARIABLE), environ.get(PERMISSION_VARIABLE)
    return ConfigSources(
        home=str(home),
        folder=str(folder),
        file=_path(environ, "OPENCODE_CONFIG"),
        directory=_path(environ, "OPENCODE_CONFIG_DIR"),
        content=_read_variable(CONTENT_VARIABLE, content, home) if content else None,
        permission=_read_variable(PERMISSION_VARIABLE, permission, home) if permission else None,
        disable_project_config=_is_on(environ, "OPENCODE_DISABLE_PROJECT_CONFIG"),
        disable_claude_code=_is_on(environ, "OPENCODE_DISABLE_CLAUDE_CODE"),
        disable_claude_code_prompt=_is_on(environ, "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT"),
        disable_claude_code_skills=_is_on(environ, "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS"),
        disable_external_skills=_is_on(environ, "OPENCODE_DISABLE_EXTERNAL_SKILLS"),
        disable_autocompact=_is_on(environ, "OPENCODE_DISABLE_AUTOCOMPACT"),
        disable_prune=_is_on(environ, "OPENCODE_DISABLE_PRUNE"),
    )


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").lower() in ("1", "true")


def _path(environ: Mapping[str, str], name: str) -> str | None:
    path = environ.get(name) or None
    if path is not None and not path.isprintable():  # also rejects bytes that are not UTF-8
        raise ConfigError(f"{name}={path!r} holds characters that cannot be shown: give that place another name.")
    return path


def _read_variable(name: str, text: str, home: Path) -> JsonObject:
    """Checked like a file; file references become absolute."""
    variable = Path(name)
    if name == PERMISSION_VARIABLE:
        tree = normalize_permissions({"permission": jsonc.parse_value(text, variable)})
    else:
        tree = normalize_permissions(jsonc.parse(text, variable))
    check_fields(tree, variable)
    for key in jsonc.duplicate_keys(text):
        raise ConfigError(f"{name}: the key {key!r} is there twice, and one of them would not count.")
    for field in find_secrets(tree):
        raise ConfigError(
            f"{name}: the field {'.'.join(field)!r} holds a secret, and the variable's value is stored with the "
            "session. Write {env:NAME} or {file:path} in its place, or run `holdfast auth login`."
        )
    try:
        return detach_from_file(tree, variable.absolute(), home)
    except FileNotFoundError as error:
        raise ConfigError(f"{name}: the current directory is gone: change into another one.") from error
