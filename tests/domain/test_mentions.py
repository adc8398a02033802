"""Whose mention of a subagent holds."""

from datetime import UTC, datetime

from workflows.domain.ids import MessageId, TurnId
from workflows.domain.mentions import newest_mentions
from workflows.domain.messages import TextPart, UserMessage


def prompt(name: str, turn: str, step: int, *mentions: str) -> UserMessage:
    return UserMessage(
        id=MessageId(name),
        turn=TurnId(turn),
        step=step,
        parts=(TextPart(text="Go."),),
        mentions=mentions,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_a_mention_holds_in_its_turn_until_the_next_prompt() -> None:
    first, second, newer = prompt("msg_1", "trn_1", 1, "explore"), prompt("msg_2", "trn_1", 1), prompt("m", "trn_1", 2)

    assert newest_mentions((first, second), TurnId("trn_1")) == {"explore": "msg_1"}
    assert newest_mentions((first, second, newer), TurnId("trn_1")) == {}
    assert newest_mentions((first, second), TurnId("trn_2")) == {}, "as in a retry"
