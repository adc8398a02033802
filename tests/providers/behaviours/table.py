"""The table of behaviours and wires in docs/models.md."""

from pathlib import Path
from typing import Final

from tests.providers.behaviours import answers, failing
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.azure_wire import AzureChatWire, AzureResponsesWire
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.compatible_wires import SloppyWire, StrictWire
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.litellm_wire import LitellmWire
from tests.providers.behaviours.mistral_wire import MistralWire
from tests.providers.behaviours.ollama_wire import OllamaWire
from tests.providers.behaviours.openrouter_wire import OpenRouterWire
from tests.providers.behaviours.reasons import BELIEVED, REASONS
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.rows import ROWS
from tests.providers.behaviours.wire_under_test import WireUnderTest

WIRES: Final[tuple[type[WireUnderTest], ...]] = (
    AnthropicWire,
    GeminiWire,
    BedrockWire,
    ResponsesWire,
    ChatWire,
    AzureResponsesWire,
    AzureChatWire,
    OpenRouterWire,
    MistralWire,
    StrictWire,
    SloppyWire,
    OllamaWire,
    LitellmWire,
)
_MODULES: Final = (answers.__name__, failing.__name__)  # they fill ROWS, in whatever order they are imported
NAMES: Final = [name for module in _MODULES for name, behaviour in ROWS.items() if behaviour.__module__ == module]
PAGE: Final = Path(__file__).parents[3] / "docs" / "models.md"
BEGIN: Final = "<!-- behaviours: python -P -m tests.providers.behaviours.table -->\n"
END: Final = "<!-- /behaviours -->\n"


def table() -> str:
    """The table, and the reasons below it."""
    notes: list[str] = []

    def cell(row: str, wire: type[WireUnderTest]) -> str:
        reason = REASONS.get((wire.name, row))
        note = reason or BELIEVED.get((wire.name, row))
        if note is None:
            return "yes"
        if note not in notes:
            notes.append(note)
        return f"{'no' if reason else 'yes'} ({notes.index(note) + 1})"

    rows = [f"| {row} | {' | '.join(cell(row, wire) for wire in WIRES)} |\n" for row in NAMES]
    head = f"| | {' | '.join(wire.name for wire in WIRES)} |\n|---|{'---|' * len(WIRES)}\n"
    below = "".join(f"{number}. {note}\n" for number, note in enumerate(notes, 1))
    return f"{head}{''.join(rows)}\n{below}"


def page() -> str:
    """docs/models.md with the table as it is now."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
