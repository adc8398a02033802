"""Where the key of a model provider is looked up, in order."""

from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.model.headers import header_value
from activities.model.providers import KnownProvider
from workflows.domain.errors import MissingKey


def find_key(
    provider: KnownProvider,
    configured: str | None,
    keys: Keys,
    environment: Mapping[str, str],
    name: str | None = None,
) -> SecretStr | None:
    """A provider's key: from its configuration (references resolved), the file, or its variables.

    With a `name`, that one of the file and no other. Raises UsageError for one that is not there, and for one that
    cannot be sent; it names the source only.
    """
    if name and not configured:
        named = keys.get(provider.id, name)
        if named is None:
            raise MissingKey(
                f"There is no key {name!r} for {provider.id!r}, as provider.{provider.id}.options.keyName has it: "
                f"run `holdfast auth login {provider.id} --name {name}`."
            )
        return named
    for origin, written in _key_candidates(provider, configured, keys, environment):
        if written and (key := header_value(origin, written)):
            return SecretStr(key)
    return None


def _key_candidates(
    provider: KnownProvider, configured: str | None, keys: Keys, environment: Mapping[str, str]
) -> Iterator[tuple[str, str | None]]:
    yield f"provider.{provider.id}.options.apiKey", configured
    stored = keys.get(provider.id)
    yield f"The key of `holdfast auth login {provider.id}`", stored.get_secret_value() if stored else None
    for variable in provider.variables:
        yield variable, environment.get(variable)
