"""Files that a user names for a provider."""

from pathlib import Path

from pydantic import SecretStr

from workflows.domain.config.references import accepted_file
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class ProviderFile(Value):
    """`content`: what a person has accepted of a project's file; None: it may change, and is read at use."""

    path: str
    content: SecretStr | None = None

    def read(self) -> bytes:
        return Path(self.path).read_bytes() if self.content is None else self.content.get_secret_value().encode()


def provider_file(setting: str, written: str, resolved: str) -> ProviderFile:
    """Raises UsageError as `absolute_file`."""
    path = accepted_file(written)
    if path is not None:
        return ProviderFile(path=path, content=SecretStr(resolved))
    return ProviderFile(path=absolute_file(setting, resolved))


def absolute_file(setting: str, path: str) -> str:
    """`path` with the home for `~`. Raises UsageError for a relative one: the worker runs in a directory of its own."""
    file = Path(path).expanduser() if path.startswith("~/") else Path(path)
    if not file.is_absolute():
        raise UsageError(f"{setting} is the relative path {path!r}: write it from / or ~ on.")
    return str(file)
