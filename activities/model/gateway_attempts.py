"""What the providers behind Vercel's gateway have answered."""

from pydantic import AliasPath, BaseModel, ConfigDict, Field, ValidationError


class _Sent(BaseModel):
    model_config = ConfigDict(defer_build=True)


class _ProviderAttempt(_Sent):
    provider: str
    error: str = ""


class _ModelAttempt(_Sent):
    attempts: list[_ProviderAttempt] = Field(validation_alias="providerAttempts")


class _Failure(_Sent):
    models: list[_ModelAttempt] = Field(
        validation_alias=AliasPath("providerMetadata", "gateway", "routing", "modelAttempts")
    )


def attempts_text(body: str) -> str:
    """Each provider's message in brackets, as the gateway's own may be just "Bad Request". Empty for other bodies."""
    try:
        failure = _Failure.model_validate_json(body)
    except ValidationError:
        return ""
    failed = (attempt for model in failure.models for attempt in model.attempts if attempt.error)
    texts = dict.fromkeys(f"{attempt.provider}: {attempt.error}" for attempt in failed)  # each once
    return f" ({'; '.join(texts)})" if texts else ""
