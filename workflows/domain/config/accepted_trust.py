"""AcceptedTrust: by whom the files of a project count as the user's own."""

from datetime import datetime

from workflows.domain.value import Value


class AcceptedTrust(Value):
    """A person has accepted the content with this digest. `record`: the number of that among the project's records."""

    record: int
    digest: str
    author: str
    at: datetime
