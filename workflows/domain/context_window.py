"""How much of a model's context a conversation may take (opencode.md 4.4)."""

from typing import Final

from workflows.domain.config.config import Compaction

_MAX_OUTPUT: Final = 32_000  # tokens that are kept free for an answer
_RESERVED: Final = 20_000  # of a model whose input has a limit of its own


def usable_tokens(*, context: int, max_input: int, max_output: int, compaction: Compaction) -> int:
    """Tokens that a conversation may have; 0: any number. Limits that are not known are 0.

    At least half of the context: an answer's limit of that size or more would leave nothing.
    """
    answer = min(max_output, _MAX_OUTPUT) or _MAX_OUTPUT
    if max_input:
        reserved = min(_RESERVED, answer) if compaction.reserved is None else compaction.reserved
        return max(max_input - reserved, max_input // 2)
    return max(context - answer, context // 2)


def overflows(tokens: int, usable: int) -> bool:
    """Whether a context of `tokens` leaves no room for an answer."""
    return 0 < usable <= tokens
