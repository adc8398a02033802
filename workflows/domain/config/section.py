"""The base of the configuration's models, and names that several of them have."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen part of the configuration; ignores fields that it does not model. The text below a field describes it in
    the JSON schema."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("a name has printable characters only")
    return name


PrintableName = Annotated[str, AfterValidator(_check_printable)]
