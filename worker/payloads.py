"""What our values are in the engine's payloads; apart from its client, which a bell is rung without."""

from dataclasses import replace
from typing import Final

from temporalio.contrib.pydantic import PydanticPayloadConverter, ToJsonOptions, pydantic_data_converter


class _PayloadConverter(PydanticPayloadConverter):
    """Leaves out what was never set: histories stay small, and a new field with a default changes no old payload."""

    def __init__(self) -> None:
        super().__init__(ToJsonOptions(exclude_unset=True))


DATA_CONVERTER: Final = replace(pydantic_data_converter, payload_converter_class=_PayloadConverter)
