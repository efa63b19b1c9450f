import pytest

from kantor.errors import EvidenceError
from kantor.sealing.forms import read_bytes, read_list, read_record


@pytest.mark.parametrize("text", ["AB", "a", "a b", " ab", "zz", "ab\n", None, 3, b"ab", ["ab"]])
def test_bytes_are_written_in_one_way(text):
    with pytest.raises(EvidenceError, match="lowercase hexadecimal"):
        read_bytes(text, "it")
    assert read_bytes("ab00", "it") == b"\xab\x00"


def test_bytes_have_the_length_that_they_should():
    assert read_bytes("abcd", "it", 2) == b"\xab\xcd"
    with pytest.raises(EvidenceError, match="has 2 bytes, not 3"):
        read_bytes("abcd", "it", 3)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([], "is a list, not a record"),
        ({"a": 1}, "lacks, or should not have, b"),
        ({"a": 1, "b": "x", "c": 1}, "lacks, or should not have, c"),
        ({"a": True, "b": "x"}, "a of it is a bool, not a int"),
        ({"a": "1", "b": "x"}, "a of it is a str, not a int"),
        ({"a": 1, "b": None}, "b of it is a NoneType"),
        ({"a": 1, "b": "x", 3: 1}, "should not have, 3"),
    ],
)
def test_a_record_has_its_fields_and_their_types(value, match):
    assert read_record({"a": 1, "b": "x"}, "it", a=int, b=str) == {"a": 1, "b": "x"}
    with pytest.raises(EvidenceError, match=match):
        read_record(value, "it", a=int, b=str)


def test_a_list_is_one_and_has_its_length():
    assert read_list([1, 2], "it", 2) == [1, 2]
    for value, match in (("ab", "not a list"), ({}, "not a list"), ([1], "1 entries, not 2")):
        with pytest.raises(EvidenceError, match=match):
            read_list(value, "it", 2)
