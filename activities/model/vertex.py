"""Models on Google's Vertex AI: the protocol of each publisher, and its address."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from activities.model.endpoint import Endpoint, GoogleSignIn, Wire
from activities.model.provider_files import ProviderFile, absolute_file, provider_file
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.errors import UsageError

VERTEX: Final = "vertex_ai"  # litellm's name of the provider
# in OpenCode's order
_PROJECTS: Final = ("GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT")
_LOCATIONS: Final = ("GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION")
_CREDENTIALS: Final = "GOOGLE_APPLICATION_CREDENTIALS"
SETTINGS: Final = (*_PROJECTS, *_LOCATIONS, _CREDENTIALS)
_CLAUDE_ONLY: Final = "google-vertex-anthropic"
_DEFAULT_LOCATIONS: Final = {_CLAUDE_ONLY: "global"}  # OpenCode's
_DEFAULT_LOCATION: Final = "us-central1"
_MULTI_REGIONS: Final = ("eu", "us")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]*")  # it becomes a part of a host or a path


class _Publisher(NamedTuple):
    """Models by their names. `version` and `path` are parts of their address."""

    names: re.Pattern[str]
    wire: Wire
    version: str
    path: str


_PUBLISHERS: Final = (
    _Publisher(re.compile(r"claude-"), Wire.ANTHROPIC, "v1", "publishers/anthropic/models"),
    _Publisher(re.compile(r"gemini-"), Wire.GEMINI, "v1beta1", "publishers/google"),
    _Publisher(re.compile(r"[^/]+/.+-maas$"), Wire.CHAT, "v1", "endpoints/openapi"),  # open models, served by Google
)


def vertex_wire(id: str, name: str) -> Wire:
    """Raises UsageError for a model that no wire of ours reaches there."""
    return _publisher(id, name).wire


def place_on_vertex(
    endpoint: Endpoint, id: str, options: ProviderOptions, written: ProviderOptions, environment: Mapping[str, str]
) -> Endpoint:
    """`endpoint` with the model's address in the user's project, and the credentials for its tokens.
    `written`: the options with their references.

    An API key reaches Gemini without a project ("express mode"), or a server at an address of the user's own.
    Raises UsageError without a project, if the path of the credentials is relative, and as `vertex_wire` does.
    """
    publisher = _publisher(id, endpoint.name)
    keyed = endpoint.key is not None and (publisher.wire is Wire.GEMINI or endpoint.base_url is not None)
    signed = any(name.lower() == "authorization" for name in endpoint.headers)
    return endpoint.model_copy(
        update={
            "base_url": endpoint.base_url
            or (_express_address(publisher) if keyed else _address(publisher, id, options, environment)),
            "key": endpoint.key if keyed else None,
            "google": None if keyed or signed else _sign_in(id, options, written, environment),
        }
    )


def _sign_in(
    id: str, options: ProviderOptions, written: ProviderOptions, environment: Mapping[str, str]
) -> GoogleSignIn:
    if file := options.google_auth_options.key_filename:
        setting = f"provider.{id}.options.googleAuthOptions.keyFilename"
        named = provider_file(setting, written.google_auth_options.key_filename or "", file)
        return GoogleSignIn(credentials_file=named)
    file = environment.get(_CREDENTIALS)
    return GoogleSignIn(credentials_file=ProviderFile(path=absolute_file(_CREDENTIALS, file)) if file else None)


def _publisher(id: str, name: str) -> _Publisher:
    found = next((each for each in _PUBLISHERS if each.names.match(name)), None)
    if found is None or (id == _CLAUDE_ONLY and found.wire is not Wire.ANTHROPIC):
        served = "Claude" if id == _CLAUDE_ONLY else "Gemini, Claude, and open models (publisher/name-maas)"
        raise UsageError(f"{id}/{name} is not reached by Holdfast, which asks Vertex AI for {served}.")
    return found


def _express_address(publisher: _Publisher) -> str:
    return f"https://{_host('global')}/{publisher.version}/{publisher.path}"


def _address(publisher: _Publisher, id: str, options: ProviderOptions, environment: Mapping[str, str]) -> str:
    project = options.project or _first(environment, _PROJECTS)
    if not project:
        raise UsageError(
            f"{id!r} needs a project of Google Cloud: set GOOGLE_CLOUD_PROJECT, or provider.{id}.options.project in "
            "opencode.json."
        )
    location = options.location or _first(environment, _LOCATIONS) or _DEFAULT_LOCATIONS.get(id, _DEFAULT_LOCATION)
    for kind, name in (("project", project), ("location", location)):
        if not _NAME.fullmatch(name):
            raise UsageError(f"The {kind} of {id!r} is no name of Google Cloud's: {name!r}.")
    return f"https://{_host(location)}/{publisher.version}/projects/{project}/locations/{location}/{publisher.path}"


def _host(location: str) -> str:
    """https://docs.cloud.google.com/vertex-ai/docs/reference/rest#service-endpoint"""
    if location == "global":
        return "aiplatform.googleapis.com"
    return (
        f"aiplatform.{location}.rep.googleapis.com"
        if location in _MULTI_REGIONS
        else f"{location}-aiplatform.googleapis.com"
    )


def _first(environment: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((value for name in names if (value := environment.get(name))), None)
