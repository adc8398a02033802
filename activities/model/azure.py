"""OpenAI's models at a resource of Azure: its address, and that of each deployment."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from activities.model.endpoint import Wire
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.errors import UsageError

AZURE: Final = "azure"  # litellm's name of the provider
COGNITIVE_SERVICES: Final = "azure-cognitive-services"
_RESOURCES: Final = {  # provider → the variable with its resource, and the domain of that (OpenCode's)
    COGNITIVE_SERVICES: ("AZURE_COGNITIVE_SERVICES_RESOURCE_NAME", "cognitiveservices.azure.com")
}
_RESOURCE: Final = ("AZURE_RESOURCE_NAME", "openai.azure.com")
_ADDRESSES: Final = ("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE")  # of OpenAI's package, and of litellm
SETTINGS: Final = (_RESOURCE[0], *_ADDRESSES, *(variable for variable, _ in _RESOURCES.values()))
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_QUERY: Final = "?api-version="
_DATED: Final = re.compile(r"\d{4}-")  # a version that only the addresses of deployments take
# learn.microsoft.com/azure/ai-services/openai/api-version-lifecycle: the newest of the dated ones that is no preview
_DEFAULT_VERSION: Final = "2024-10-21"


def resource_address(id: str, options: ProviderOptions, environment: Mapping[str, str]) -> tuple[str, str]:
    """What names the resource, and its address. Raises UsageError if neither configuration nor environment do."""
    variable, domain = _RESOURCES.get(id, _RESOURCE)
    resource = options.resource_name or environment.get(variable)
    if resource:
        if not _NAME.fullmatch(resource):
            raise UsageError(f"The resource of {id!r} is no name of Azure's: {resource!r}.")
        return variable, f"https://{resource}.{domain}"
    others = () if id in _RESOURCES else _ADDRESSES
    if found := next(((name, value) for name in others if (value := environment.get(name))), None):
        return found
    raise UsageError(
        f"{id!r} needs a resource of Azure: set {variable}, or provider.{id}.options.resourceName in opencode.json."
    )


def with_version(address: str, options: ProviderOptions) -> str:
    """`address` of a resource, with the version of its API that is configured or was written there."""
    version = options.api_version or (_DEFAULT_VERSION if options.use_deployment_based_urls else None)
    return f"{address.partition('?')[0]}{_QUERY}{version}" if version else address


def operation_address(address: str, wire: Wire, deployment: str) -> str:
    """The part before an operation's path: the deployment for a dated version, `v1` for others."""
    resource, query, version = address.partition(_QUERY)
    if not _DATED.match(version):
        return f"{resource}/openai/v1{query}{version}"
    place = "" if wire is Wire.RESPONSES else f"/deployments/{quote(deployment)}"
    return f"{resource}/openai{place}{query}{version}"
