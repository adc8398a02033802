"""Prepares the environment for litellm: our switches, and no key and no address of a provider.

litellm looks such names up for missing arguments; ours come from the configuration only (security.md 14).
"""

import re
from collections.abc import MutableMapping
from typing import Final

SWITCHES: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else its import fetches a price list from the network
    "LITELLM_MODE": "PRODUCTION",  # else it loads the first `.env` above its own directory
    "LITELLM_LOG": "CRITICAL",  # its log lines quote messages
    # where it sends what has no address; else that is OpenAI's, also for other providers
    "OPENAI_BASE_URL": "http://provider-without-address.invalid/v1",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # else it breaks off answers that repeat themselves
}
_LOOKED_UP: Final = re.compile(r"(?!AWS_|TEMPORAL_|HOLDFAST_)(.*_(KEY|TOKEN|API_BASE|BASE_URL)|(OPENAI|LITELLM)_.*)")


def isolate(environment: MutableMapping[str, str]) -> None:
    """Prepare the environment before litellm's import, and after our keys were read.

    Call it before there are threads: a new name moves the whole environment, and a thread that just reads it
    (Temporal's do) crashes. Names already prepared are set in place.
    """
    for name in [name for name in environment if _LOOKED_UP.fullmatch(name)]:
        del environment[name]
    environment.update(SWITCHES)
