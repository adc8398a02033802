"""What to do about a failure of Ollama's server."""

import re
from typing import Final, NamedTuple

from activities.model.failures import error_message
from workflows.domain.provider_failure import ProviderFailure

_HOPELESS: Final = "invalid_prompt"  # a code of requests for which a retry is useless


class _Advice(NamedTuple):
    """`hopeless`: of failures that the server gives the status 500, as if they might pass."""

    pattern: re.Pattern[str]
    text: str = ""
    hopeless: bool = False


_TABLE: Final = (  # in the words of Ollama's server/routes.go, server/sched.go, api/types.go, and llama.cpp's server
    _Advice(re.compile("^model .* not found"), "fetch it with `ollama pull`, or name one that `ollama list` shows"),
    _Advice(
        re.compile("does not support .*tools"), "an agent needs a model with the capability `tools` in `ollama show`"
    ),
    _Advice(re.compile("does not support thinking"), "take `think` and the reasoning effort out of its options"),
    _Advice(
        re.compile("exceeds the (available )?context|longer than the context"),
        "give it a larger window, as `limit.context` in opencode.json or OLLAMA_CONTEXT_LENGTH there",
    ),
    _Advice(
        re.compile("requires more system memory"), "name a smaller model, or give it a smaller `limit.context`", True
    ),
    _Advice(re.compile("must be of type|only supports one image"), hopeless=True),
)


def advise(failure: ProviderFailure) -> ProviderFailure:
    """The failure with what to do about it, and with a code if a retry is useless."""
    message = error_message(failure.message) or failure.message  # llama.cpp's answer comes as JSON in a text
    advice = next((each for each in _TABLE if each.pattern.search(message)), None)
    if advice is None:
        return failure.model_copy(update={"message": message})
    text = f"{message}: {advice.text}." if advice.text else message
    code = _HOPELESS if advice.hopeless else failure.code
    return failure.model_copy(update={"message": text, "code": code})
