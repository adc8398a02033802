"""Why AWS gives no credentials, and what to do about it.

By the names of botocore's classes: the package is an extra, and may be missing.
"""

import re
import shlex
import ssl
from http import HTTPStatus
from typing import Any, Final

from activities.model.failure_table import UNSENT
from activities.model.wires.transport_failures import UNTRUSTED, exception_chain
from workflows.domain.provider_failure import ProviderFailure

# of a service that is not reached, or that fails
_PASSING: Final = frozenset({"HTTPClientError", "ConnectionError", "MetadataRetrievalError"})
_THROTTLED: Final = ("Throttl", "TooManyRequests")  # in codes; STS has them with a status of 400
_REFUSED: Final = re.compile(r"non 200 response 4(?!08|29)")  # by the service of a container or a pod
_PROGRAM: Final = "custom-process"  # botocore's name of `credential_process`
_OF_THE_PROGRAM: Final = "the program in credential_process has failed."  # what it writes may hold a secret
_TEXTS: Final = {  # instead of botocore's
    "NoCredentialsError": "there are none. Name a profile (provider.amazon-bedrock.options.profile, or AWS_PROFILE), "
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give an API key of Bedrock's (AWS_BEARER_TOKEN_BEDROCK).",
    "RefreshWithMFAUnsupportedError": "the profile asks for an MFA code (mfa_serial), and a worker cannot type one. "
    "Name another profile, such as one of single sign-on, or set keys in your shell by "
    '`eval "$(aws configure export-credentials --format env{profile})"`, and name no profile in opencode.json.',
}
_SHOW: Final = "`aws sts get-caller-identity{profile}` shows whether AWS's own program has them."
_ADVICE: Final = {  # the first class that fits; {profile}: as AWS's program takes it
    "SSOError": "Sign in: `aws sso login{profile}`.",
    "TokenRetrievalError": "Sign in: `aws sso login{profile}`.",
    "LoginError": "Sign in: `aws login{profile}`.",
    "ProfileNotFound": "`aws configure list-profiles` has those that there are.",
    **dict.fromkeys(_TEXTS, ""),
    "Exception": _SHOW,
}


def no_answer(provider: str, seconds: float, profile: str | None) -> ProviderFailure:
    """A look-up took too long: a service hangs, or a program waits for an answer."""
    message = f"AWS gave no credentials within {seconds:g} s. {_SHOW.format(profile=_option(profile))}"
    return ProviderFailure(provider=provider, message=message, retryable=True)


def no_credentials(provider: str, error: Exception, profile: str | None) -> ProviderFailure:
    """A retry helps only if a service that gives credentials could not be reached."""
    chain, details = tuple(exception_chain(error)), _details(error)
    if untrusted := next((each for each in chain if isinstance(each, ssl.SSLCertVerificationError)), None):
        where = details.get("endpoint_url", "AWS")
        message = f"no AWS credentials: {where}: {UNTRUSTED.format(untrusted.verify_message)}"
        return ProviderFailure(provider=provider, message=f"{message}.", retryable=True, connect_error=message)
    passing, classes = any(map(_is_passing, chain)), [each.__name__ for each in type(error).__mro__]
    own = _OF_THE_PROGRAM if details.get("provider") == _PROGRAM else str(error) or classes[0]
    text = _TEXTS[classes[0]].format(profile=_option(profile)) if classes[0] in _TEXTS else own
    advice = next(advice for name, advice in _ADVICE.items() if name in classes)
    if not passing and advice:
        text = f"{text.removesuffix('.')}. {advice.format(profile=_option(profile))}"
    message = f"AWS credentials are not available: {text}"
    return ProviderFailure(provider=provider, message=message, code=None if passing else UNSENT, retryable=passing)


def _option(profile: str | None) -> str:
    return f" --profile {shlex.quote(profile)}" if profile else ""


def _is_passing(error: BaseException) -> bool:
    response = getattr(error, "response", None) or {}  # of a service that refuses to give any
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = response.get("Error", {}).get("Code") or ""
    return (
        (status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR)
        or any(word in code for word in _THROTTLED)
        or (
            any(each.__name__ in _PASSING for each in type(error).__mro__)
            and not _REFUSED.search(str(_details(error).get("error_msg")))
        )
    )


def _details(error: BaseException) -> dict[str, Any]:
    """What botocore's errors are filled with."""
    return getattr(error, "kwargs", {})
