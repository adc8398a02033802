"""OutputFormat: the form of a turn's result, if it owes one."""

from typing import Final, Literal

from pydantic import Field, JsonValue

from workflows.domain.value import Value

STRUCTURED_OUTPUT: Final = "StructuredOutput"  # OpenCode's name of the tool whose arguments are the result
DEFAULT_CORRECTIONS: Final = 2
MAX_CORRECTIONS: Final = 10


class OutputFormat(Value):
    """A result by a JSON schema. `corrections`: how often an answer without one is corrected."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: dict[str, JsonValue]
    corrections: int = Field(DEFAULT_CORRECTIONS, ge=0, le=MAX_CORRECTIONS)
