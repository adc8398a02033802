"""Refuses the conversations that providers refuse (reliability.md 3)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})


def find_flaw(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The flaw in a provider's words, or None."""
    if not messages:
        return "messages: at least one message is required"
    waiting: set[str] = set()
    for position, message in enumerate(messages):
        wrong = _step(message, waiting)
        if wrong:
            return f"messages.{position}: {wrong}"
    return _unanswered(waiting)


def _step(message: Mapping[str, Any], waiting: set[str]) -> str | None:
    """Updates `waiting`, the calls without a result."""
    role = message.get("role")
    if role not in _ROLES:
        return f"unknown role {role!r}"
    if role == "tool":
        return _result(message, waiting)
    if waiting:
        return _unanswered(waiting)
    return _turn(message, waiting) if role == "assistant" else None


def _result(message: Mapping[str, Any], waiting: set[str]) -> str | None:
    call = message.get("tool_call_id")
    if call not in waiting:
        return f"tool result for {call!r}, which is no open call of the preceding assistant message"
    waiting.discard(call)
    return None


def _turn(message: Mapping[str, Any], waiting: set[str]) -> str | None:
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    if not calls and not message.get("content"):
        return "an assistant message must have content or tool calls"
    if len(set(calls)) < len(calls):
        return "two tool calls have the same id"
    waiting.update(calls)
    return None


def _unanswered(waiting: set[str]) -> str | None:
    return f"tool calls without a result: {', '.join(sorted(waiting))}" if waiting else None
