"""Where to get keys of providers, how the keys begin, and which providers need none."""

import re
from collections.abc import Mapping
from typing import Final

from activities.model.headers import header_value
from activities.model.other_programs_keys import CLAUDE_SUBSCRIPTION
from workflows.domain.errors import UsageError
from workflows.domain.value import Value


class KeyForm(Value):
    """`page`: where a key is made. `start`: how all of them begin, as far as the provider says."""

    page: str
    start: str = ""


_GOOGLE: Final = KeyForm(page="https://aistudio.google.com/apikey")
_TOGETHER: Final = KeyForm(page="https://api.together.ai/settings/api-keys")
_FIREWORKS: Final = KeyForm(page="https://app.fireworks.ai/settings/users/api-keys", start="fw_")
_ZAI: Final = KeyForm(page="https://z.ai/manage-apikey/apikey-list")
# from the providers' documents
_FORMS: Final[Mapping[str, KeyForm]] = {
    "anthropic": KeyForm(page="https://console.anthropic.com/settings/keys", start="sk-ant-"),
    "openai": KeyForm(page="https://platform.openai.com/api-keys", start="sk-"),
    "google": _GOOGLE,
    "gemini": _GOOGLE,
    "azure": KeyForm(page="https://portal.azure.com (the resource's page “Keys and Endpoint”)"),
    "mistral": KeyForm(page="https://console.mistral.ai/api-keys"),
    "groq": KeyForm(page="https://console.groq.com/keys", start="gsk_"),
    "openrouter": KeyForm(page="https://openrouter.ai/settings/keys", start="sk-or-"),
    "deepseek": KeyForm(page="https://platform.deepseek.com/api_keys", start="sk-"),
    "xai": KeyForm(page="https://console.x.ai", start="xai-"),
    "together": _TOGETHER,
    "togetherai": _TOGETHER,
    "fireworks": _FIREWORKS,
    "fireworks-ai": _FIREWORKS,
    "cohere": KeyForm(page="https://dashboard.cohere.com/api-keys"),
    "exa": KeyForm(page="https://dashboard.exa.ai/api-keys"),  # which searches the net, and has no models
    "cerebras": KeyForm(page="https://cloud.cerebras.ai", start="csk-"),
    "perplexity": KeyForm(page="https://www.perplexity.ai/account/api/keys", start="pplx-"),
    "moonshotai": KeyForm(page="https://platform.moonshot.ai/console/api-keys", start="sk-"),
    "huggingface": KeyForm(page="https://huggingface.co/settings/tokens", start="hf_"),
    "nvidia": KeyForm(page="https://build.nvidia.com/settings/api-keys", start="nvapi-"),
    "zai": _ZAI,
    "zai-coding-plan": _ZAI,
    "alibaba": KeyForm(page="https://www.alibabacloud.com/help/en/model-studio/get-api-key"),
    "minimax": KeyForm(page="https://platform.minimax.io (Settings, API Keys)"),
    "opencode": KeyForm(page="https://opencode.ai/auth"),
    "deepinfra": KeyForm(page="https://deepinfra.com/dash/api_keys"),
}
_VERTEX: Final = (
    "Vertex AI signs in by Google's credentials (`gcloud auth application-default login`); a key reaches Gemini."
)
_BEDROCK: Final = "Bedrock signs in by AWS credentials (`aws configure sso`, AWS_PROFILE), or by a key of its own."
_WITHOUT_KEY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("google-vertex", "google-vertex-anthropic", "vertex_ai"), _VERTEX),
    **dict.fromkeys(("amazon-bedrock", "bedrock"), _BEDROCK),
}
_PROVIDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STARTS: Final = tuple({form.start for form in _FORMS.values() if form.start})
_SHORTEST_KEY: Final = 20  # characters
_SUBSCRIPTION_TOKEN: Final = "sk-ant-oat"  # Claude Code's, of a subscription


def key_page(provider: str) -> str | None:
    return _FORMS[provider].page if provider in _FORMS else None


def sign_in_note(provider: str, *, needs_key: bool) -> str | None:
    """How to sign in to a provider that takes no key, or needs none."""
    if needs_key:
        return None
    return _WITHOUT_KEY.get(provider, f"{provider} runs on your own machine: it needs a key only if you have set one.")


def check_provider_id(text: str) -> None:
    """Raises UsageError for what is no provider's id; the message does not hold it: it may be a key."""
    long_as_a_key = len(text) >= _SHORTEST_KEY and text.startswith(_STARTS)
    if long_as_a_key or not _PROVIDER.fullmatch(text):
        raise UsageError(
            "The first argument is a provider's id, of letters, digits, dots and dashes, as 'anthropic': nothing was "
            "stored. The key is asked for, or read from standard input."
        )


def check_key(provider: str, text: str) -> tuple[str, str | None]:
    """The key without surrounding blanks, and a remark if it does not look like one of the provider.

    Raises UsageError for what is no key; the message does not hold it.
    """
    key = header_value("The key", text)
    if not key:
        raise UsageError("The key is empty: nothing was stored.")
    if len(key.split()) > 1:
        raise UsageError("The key contains a blank: nothing was stored.")
    if key.startswith(_SUBSCRIPTION_TOKEN):
        raise UsageError(f"This is not an API key: nothing was stored. {CLAUDE_SUBSCRIPTION}.")
    start = _FORMS[provider].start if provider in _FORMS else ""
    remark = None if key.startswith(start) else f"Keys of {provider} begin with {start!r}, and this one does not."
    return key, remark
