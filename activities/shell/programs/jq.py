"""jq: filters that see nothing but their input."""

import re
from typing import Final

# Other inputs, the environment, and modules; a field of that name (`.input`) is none of them.
_REACHING: Final = re.compile(r"\$ENV|\$__|(?<![.\w$])(?:input|inputs|env|import|include|modulemeta|get_search_list)\b")


def prints(program: str) -> bool:
    """Whether a filter reaches nothing but its input."""
    return _REACHING.search(program) is None
