"""Access tokens of Google's credentials, for models on Vertex AI."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from activities.model.endpoint import Endpoint, GoogleSignIn, Route
from activities.model.failures import is_transient_status
from activities.model.optional_packages import import_extra
from activities.model.wires.http_client import open_client
from activities.model.wires.http_library import httpx
from activities.model.wires.timeouts import StreamTimeouts
from activities.model.wires.transport_failures import from_exception
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.provider_failure import ProviderFailure

_SCOPES: Final = ["https://www.googleapis.com/auth/cloud-platform"]
_METADATA_HOSTS: Final = ("metadata.google.internal", "169.254.169.254")  # of the machine itself: behind no proxy
_TIMEOUT: Final = 30.0  # seconds, of one request to Google's token server or the machine's metadata server
_UNSENT: Final = (httpx.HTTPError, httpx.InvalidURL)
_REMEDY: Final = (
    "run `gcloud auth application-default login`, or name a file of credentials in GOOGLE_APPLICATION_CREDENTIALS"
)


class GoogleTokens:
    """Keeps the token of each sign-in until shortly before it expires, and reads the files again for the next one."""

    def __init__(self, environment: Mapping[str, str], timeouts: StreamTimeouts) -> None:
        self._environment = environment
        self._timeouts = timeouts
        self._credentials: dict[GoogleSignIn, Any] = {}
        self._locks: dict[GoogleSignIn, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def authorize(self, endpoint: Endpoint) -> Endpoint:
        """`endpoint` with a token in its headers, if it is one of Google's.

        Raises ModelError while Google's servers cannot be asked, and UsageError for credentials that they refuse.
        """
        sign_in = endpoint.google
        if sign_in is None:
            return endpoint
        async with self._locks[sign_in]:
            credentials: Any = self._credentials.get(sign_in)
            if credentials is None or not credentials.valid:
                route = endpoint.route.anonymous
                obtaining = asyncio.to_thread(_obtain, endpoint.provider, sign_in, route, self._environment)
                credentials = await self._timeouts.await_headers(endpoint.provider, obtaining)
                self._credentials[sign_in] = credentials
        headers: dict[str, str] = {}
        credentials.apply(headers)  # the token, and the project that pays if the credentials name one
        configured = {name.lower() for name in endpoint.headers}
        own = {name: value for name, value in headers.items() if name not in configured}
        return endpoint.model_copy(update={"headers": own | endpoint.headers})

    def forget(self, endpoint: Endpoint) -> None:
        """Sign in again for the next request: the token was refused."""
        if endpoint.google is not None:
            self._credentials.pop(endpoint.google, None)


def _obtain(provider: str, sign_in: GoogleSignIn, route: Route, environment: Mapping[str, str]) -> Any:
    """Credentials with a fresh token. Imports, and waits for files and servers: for a thread."""
    auth, exceptions = import_extra("vertex", "google.auth"), import_extra("vertex", "google.auth.exceptions")
    straight: dict[str, Any] = {f"all://{host}": None for host in _METADATA_HOSTS}
    options: dict[str, Any] = {"timeout": _TIMEOUT, "mounts": straight}
    with open_client(httpx.Client, route, environment, options) as client:
        send = _Transport(client, exceptions.TransportError)
        try:
            credentials = _load(auth, sign_in, send)
            credentials.refresh(send)
        except (exceptions.GoogleAuthError, OSError) as error:
            reason = str(error.args[0] if error.args else error).rstrip(".")
            if isinstance(error, exceptions.TransportError) or is_transient_status(send.status):
                message = f"Google's sign-in does not answer: {reason}."
                failure = ProviderFailure(provider=provider, message=message, retryable=True)
                if isinstance(error.__cause__, _UNSENT):
                    failure = from_exception(provider, error).model_copy(update={"message": message})
                raise ModelError(failure) from error
            raise UsageError(f"Google's credentials cannot be used ({reason}): {_REMEDY}.") from error
        except (AttributeError, LookupError, TypeError, ValueError):  # of google-auth; may quote a key
            file = repr(sign_in.credentials_file.path) if sign_in.credentials_file else "the default file"
            raise UsageError(f"Google's credentials cannot be used ({file} holds none): {_REMEDY}.") from None
    return credentials


def _load(auth: Any, sign_in: GoogleSignIn, send: "_Transport") -> Any:
    file = sign_in.credentials_file
    if file is None:
        return auth.default(scopes=_SCOPES, request=send)[0]
    if file.content is None:
        return auth.load_credentials_from_file(file.path, scopes=_SCOPES, request=send)[0]
    return auth.load_credentials_from_dict(json.loads(file.read()), scopes=_SCOPES, request=send)[0]


class _Response:
    """In the form that google-auth wants."""

    def __init__(self, response: httpx.Response) -> None:
        self.status, self.headers, self.data = response.status_code, response.headers, response.content


class _Transport:
    """Sends google-auth's requests by the client of all our requests, so that proxies and authorities are the same."""

    def __init__(self, client: httpx.Client, error: type[Exception]) -> None:
        self._client = client
        self._error = error
        self.status = 0  # of the newest response

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> _Response:
        try:
            response = self._client.request(method, url, content=body, headers=headers, timeout=timeout or _TIMEOUT)
        except _UNSENT as error:
            raise self._error(error) from error
        self.status = response.status_code
        return _Response(response)
