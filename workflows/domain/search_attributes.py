"""Our workflows' search attributes, all of type Keyword."""

from typing import Final

SESSION: Final = "HoldfastSession"
DIRECTORY: Final = "HoldfastDirectory"
AGENT: Final = "HoldfastAgent"
KEYWORD_ATTRIBUTES: Final = (SESSION, DIRECTORY, AGENT)
