"""Messages: the place, what is wrong, what to do, in that order, and the same as data."""

from kantor.errors import InputError, KantorError, MissingExtraError


def test_sentence_and_parts():
    failure = InputError(
        "'x' is not a number", remedy="Replace it.", value="x", file="a.csv", row=3, column="b", owner=None
    )
    assert str(failure) == "a.csv, row 3, column b: 'x' is not a number. Replace it."
    assert failure.as_dict() == {
        "error": "InputError",
        "message": str(failure),
        "problem": "'x' is not a number",
        "remedy": "Replace it.",
        "value": "x",
        "where": {"file": "a.csv", "row": 3, "column": "b"},
    }


def test_kinds():
    assert isinstance(InputError("a", remedy="B."), ValueError)
    assert isinstance(InputError("a", remedy="B."), KantorError)
    assert str(InputError("a", remedy="B.")) == "a. B."
    missing = MissingExtraError("A figure", "matplotlib", "figures")
    assert isinstance(missing, ImportError)
    assert "pip install 'kantor[figures]'" in str(missing)
    assert missing.as_dict()["error"] == "MissingExtraError"
