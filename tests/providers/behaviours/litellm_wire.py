"""What litellm asks: one of the companies that it asks by OpenAI's client stands for all."""

from activities.model.endpoint import Wire
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.openai_failures import error
from tests.providers.behaviours.script import Failure


class LitellmWire(ChatWire):
    name = "by litellm"
    wire = Wire.LITELLM
    model = "llamagate/some-model"
    failures = {**ChatWire.failures, Failure.CREDIT: (402, error("Insufficient Balance"))}
