"""jq filters that see only their input."""

import re
from typing import Final

# Other inputs, the environment, modules. A field of that name (`.input`) does not match.
_REACHING: Final = re.compile(r"\$ENV|\$__|(?<![.\w$])(?:input|inputs|env|import|include|modulemeta|get_search_list)\b")


def only_prints(program: str) -> bool:
    return _REACHING.search(program) is None
