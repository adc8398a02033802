"""AWS as people configure it: regions, profiles, credentials. By botocore, an extra that is imported once it is needed.

botocore reads files, runs programs and asks services for credentials: all of it on threads.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from activities.model.bedrock_regions import DEFAULT_REGION, check_region, regional_name
from activities.model.extras import import_extra
from activities.model.failure_table import UNSENT
from activities.model.failures import ModelError, ProviderFailure
from activities.model.port import AwsSignIn, Endpoint
from activities.model.wires.wire_request import WireRequest
from workflows.domain.config.config import ProviderOptions
from workflows.domain.errors import UsageError

EXTRA: Final = "bedrock"
_SERVICE: Final = "bedrock"  # that requests are signed for
_TIMEOUT: Final = 60.0  # seconds for credentials: a role behind single sign-on takes several requests
_THREADS: Final = 4
_FILES: Final = ("credentials_file", "config_file")
# botocore's classes for a service that is not reached, or that fails; by name: the extra may be missing
_PASSING: Final = frozenset({"HTTPClientError", "ConnectionError", "MetadataRetrievalError"})
_THROTTLED: Final = ("Throttl", "TooManyRequests")  # in codes; STS has them with a status of 400
_NONE: Final = (
    "there are none. Name a profile (provider.amazon-bedrock.options.profile, or AWS_PROFILE), set AWS_ACCESS_KEY_ID "
    "and AWS_SECRET_ACCESS_KEY, or give an API key of Bedrock's (AWS_BEARER_TOKEN_BEDROCK)."
)


class AwsProfiles:
    """The profiles of the person whose process this is, with their credentials, as AWS's files have them now."""

    def __init__(self) -> None:
        self._sessions: dict[str | None, tuple[tuple[int, ...], Any]] = {}
        self._credentials: dict[str | None, Any] = {}  # by profile, those that requests were signed with last
        # of its own: a service of credentials that hangs delays requests to Bedrock, and nothing else
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="aws")

    async def place(self, endpoint: Endpoint, options: ProviderOptions, environment: Mapping[str, str]) -> Endpoint:
        """The endpoint in a region, with who signs in: as configured, else by AWS's variables, else by its files.

        Raises UsageError for a profile that is not there, and for a region that can be none.
        """
        region = options.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
        profile = options.profile
        keys: dict[str, Any] = {}
        if not profile and environment.get("AWS_ACCESS_KEY_ID") and environment.get("AWS_SECRET_ACCESS_KEY"):
            token = environment.get("AWS_SESSION_TOKEN")
            keys = {
                "access_key": environment["AWS_ACCESS_KEY_ID"],
                "secret_key": SecretStr(environment["AWS_SECRET_ACCESS_KEY"]),
                "token": SecretStr(token) if token else None,
            }
        profile = profile or (None if keys else environment.get("AWS_PROFILE"))
        region = check_region(region or await self._region(profile))
        sign_in = AwsSignIn(region=region, profile=profile, **keys)
        model = f"{endpoint.provider}/{regional_name(endpoint.name, sign_in.region)}"
        return endpoint.model_copy(update={"model": model, "aws": sign_in})

    async def authorize(self, endpoint: Endpoint, prepared: WireRequest) -> WireRequest:
        """The request, signed; one that has an authorization stays as it is. Raises ModelError, and UsageError."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_TIMEOUT):
                return await loop.run_in_executor(self._threads, self._authorize, endpoint, prepared)
        except UsageError:
            raise  # the extra is missing
        except TimeoutError:
            message = f"AWS has given no credentials in {_TIMEOUT:g} s."
            raise ModelError(ProviderFailure(provider=endpoint.provider, message=message, retryable=True)) from None
        except Exception as error:  # botocore's
            raise ModelError(_failure(endpoint, error)) from error

    def secrets(self) -> Iterator[str]:
        """What no failure may show."""
        for credentials in tuple(self._credentials.values()):  # threads add more
            yield credentials.secret_key
            yield credentials.token or ""

    async def _region(self, profile: str | None) -> str:
        def configured() -> str:
            return self._session(profile).get_config_variable("region") or DEFAULT_REGION

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, configured)
        except UsageError:
            raise
        except Exception as error:  # botocore's
            raise UsageError(f"AWS's configuration cannot be used: {error}") from error

    def _authorize(self, endpoint: Endpoint, prepared: WireRequest) -> WireRequest:
        import_extra(EXTRA, "botocore.eventstream")  # reads the answer
        if any(name.lower() == "authorization" for name in prepared.headers):
            return prepared
        sign_in = endpoint.aws or AwsSignIn(region=DEFAULT_REGION)
        self._credentials[sign_in.profile] = credentials = self._find(sign_in)
        request = import_extra(EXTRA, "botocore.awsrequest").AWSRequest("POST", prepared.url, data=prepared.body)
        import_extra(EXTRA, "botocore.auth").SigV4Auth(credentials, _SERVICE, sign_in.region).add_auth(request)
        return WireRequest(prepared.url, {**prepared.headers, **dict(request.headers.items())}, prepared.body)

    def _find(self, sign_in: AwsSignIn) -> Any:
        """New ones, if those that were found last end soon."""
        if sign_in.access_key and sign_in.secret_key:
            token = sign_in.token.get_secret_value() if sign_in.token else None
            kind = import_extra(EXTRA, "botocore.credentials").Credentials
            return kind(sign_in.access_key, sign_in.secret_key.get_secret_value(), token)
        session = self._session(sign_in.profile)
        session.set_config_variable("region", sign_in.region)  # for a service that is asked for them
        found = session.get_credentials()
        if found is None:
            raise LookupError(_NONE)
        return found.get_frozen_credentials()

    def _session(self, profile: str | None) -> Any:
        """botocore's session, which keeps what it has read: a new one once AWS's files have changed."""
        stamps, session = self._sessions.get(profile, ((), None))
        if session is None or stamps != _stamps(session):
            logging.getLogger("botocore").setLevel(logging.ERROR)  # else it logs what it signs
            session = import_extra(EXTRA, "botocore.session").Session(profile=profile)
            self._sessions[profile] = _stamps(session), session
        return session


def _stamps(session: Any) -> tuple[int, ...]:
    files = (Path(session.get_config_variable(name)).expanduser() for name in _FILES)
    return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)


def _failure(endpoint: Endpoint, error: Exception) -> ProviderFailure:
    """Credentials that are not there will not be there the next time, unless a service could not be asked for them."""
    passing = any(_is_passing(each) for each in _chain(error))
    message = f"AWS's credentials cannot be had: {str(error) or type(error).__name__}"
    code = None if passing else UNSENT
    return ProviderFailure(provider=endpoint.provider, message=message, code=code, retryable=passing)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """botocore tells of some failures by another, raised while the first was handled."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_passing(error: BaseException) -> bool:
    response = getattr(error, "response", None) or {}  # of a service that refuses to give any
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = response.get("Error", {}).get("Code") or ""
    return (
        (status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR)
        or any(word in code for word in _THROTTLED)
        or any(each.__name__ in _PASSING for each in type(error).__mro__)
    )
