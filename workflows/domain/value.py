"""The root of our frozen models."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """An immutable value: compared by content, refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
