"""What litellm finds in the environment of its process: our switches, and no key and no address of a provider.

It looks such names up by itself wherever an argument is missing; ours come from the configuration only
(security.md 14).
"""

import re
from collections.abc import MutableMapping
from typing import Final

SWITCHES: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches a price list from the network while it is imported
    "LITELLM_MODE": "PRODUCTION",  # else it loads the first `.env` that it finds above its own directory
    "LITELLM_LOG": "CRITICAL",  # its log lines quote messages
    # where it sends what it has no address for; else that is OpenAI's, whoever the provider is
    "OPENAI_BASE_URL": "http://provider-without-address.invalid/v1",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # else it breaks off answers that repeat themselves
}
_LOOKED_UP: Final = re.compile(r"(?!AWS_|TEMPORAL_|HOLDFAST_)(.*_(KEY|TOKEN|API_BASE|BASE_URL)|(OPENAI|LITELLM)_.*)")


def isolate(environment: MutableMapping[str, str]) -> None:
    """Prepare the environment of a process that will import litellm; who needs its keys has read them before.

    Call it before there are threads: a new name moves the whole environment, and a thread that just looks something
    up in it (Temporal's do) crashes. What is prepared already is only set again in its place.
    """
    for name in [name for name in environment if _LOOKED_UP.fullmatch(name)]:
        del environment[name]
    environment.update(SWITCHES)
