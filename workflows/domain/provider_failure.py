"""ProviderFailure: why a model was not asked, or did not finish its answer."""

from workflows.domain.value import Value


class ProviderFailure(Value):
    """What went wrong, as far as the provider or the network says.

    `status`, `headers`: of the response, if any; the status is that of a service behind it, if it names one. `code`:
    the provider's. `retryable`: the transport's view, None if unknown. `connect_error`: why there was no connection, if
    there was none. `begun`: the answer had begun, and is paid. `quote`: what came instead of an answer; appended to the
    message once redacted.
    """

    provider: str
    message: str
    status: int | None = None
    code: str | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    retryable: bool | None = None
    connect_error: str | None = None
    quote: str | None = None
    begun: bool = False


class FinalFailure(Value):
    """How a provider's failure has ended a step. `overflow`: the conversation is too long. `retryable`: the request may
    be answered at another time. `status`, `body`: of the response. `missing_key`: nothing was sent, for lack of one."""

    overflow: bool
    retryable: bool
    status: int | None = None
    body: str | None = None
    missing_key: bool = False
