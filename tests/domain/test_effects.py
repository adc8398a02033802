"""Effect records and their digests."""

from workflows.domain.effects import Effect, Target, input_digest


def record(**changed: object) -> Effect:
    fields = {"tool": "edit", "arguments": {"filePath": "a.txt"}, "directory": "/p"} | changed
    return Effect.model_validate(fields)


def test_equal_records_have_equal_digests() -> None:
    assert record().digest == record().digest


def test_another_pre_image_is_another_effect() -> None:
    before, after = (record(targets=(Target(path="/p/a.txt", before=hash),)) for hash in ("aa", "bb"))
    assert before.digest != after.digest


def test_another_directory_or_environment_is_another_effect() -> None:
    assert len({record().digest, record(directory="/q").digest, record(environment={"A": "1"}).digest}) == 3


def test_unequal_numbers_of_a_model_have_unequal_digests() -> None:
    whole, broken, text = (input_digest("x", {"n": value}) for value in (1, 1.5, "1.5"))
    assert len({whole, broken, text}) == 3


def test_what_could_not_be_checked_is_another_effect_of_the_same_call() -> None:
    assert record(unchecked=True).digest != record().digest == record(unchecked=False).digest
