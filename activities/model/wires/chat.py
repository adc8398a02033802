"""OpenAI's chat completions, and whatever speaks them word for word."""

from typing import Final

from activities.model.litellm_form import body, dumps
from activities.model.port import Message, ModelRequest
from activities.model.remembered import Remembered
from activities.model.wires.http_wire import Prepared

_PATH: Final = "/chat/completions"


class Chat:
    """Writes requests; of a conversation only what it has gained since its last request is written anew."""

    def __init__(self) -> None:
        self._written: Remembered[Message, bytes] = Remembered()

    async def prepare(self, request: ModelRequest) -> Prepared:
        endpoint = request.endpoint
        form = {**body(request, self._written), "model": endpoint.name, "stream": True}
        return Prepared(f"{endpoint.base_url}{_PATH}", {**endpoint.authorization, **endpoint.headers}, dumps(form))
