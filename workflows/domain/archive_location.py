"""Where an archived session is."""

from datetime import datetime

from workflows.domain.value import Value


class ArchiveLocation(Value):
    """The file with the rows, and its SHA-256."""

    file: str
    sha256: str
    at: datetime

    def __str__(self) -> str:
        return f"lies in {self.file!r} since {self.at:%Y-%m-%d}: `holdfast restore {self.file}` brings it back"
