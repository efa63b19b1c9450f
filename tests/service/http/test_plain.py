"""Records that strangers send: their shape is checked before anything else, and what they hold is not repeated."""

import pytest
from pydantic import BaseModel, ValidationError

from kantor.errors import EvidenceError, InputError
from kantor.service.http.models import AccountIn, BidIn, DeliveryIn, DisputeIn, MessageIn
from kantor.service.http.plain import plain
from kantor.service.http.problems import _place, without_value
from service.http.leaks import Canary

PRICE = 73911739117391
HEX64, OWNER, NONCE = "0" * 64, "0" * 20, "0" * 32
ENVELOPE = {"point": HEX64, "second": HEX64, "sealed": "00", "proof": {"challenge": "00", "response": "00"}}
BID = {"market": "0a", "owner": OWNER, "terms": HEX64, "key": HEX64, "nonce": NONCE}
SIGNATURE = "00" * 64


def nested(depth, leaf=1):
    return leaf if depth == 0 else {"a": nested(depth - 1, leaf)}


def refusal(model: type[BaseModel], content):
    """What a caller is told."""
    with pytest.raises(ValidationError) as refused:
        model.model_validate(content)
    return " ".join(f"{'.'.join(map(_place, each['loc']))} {each['msg']}" for each in refused.value.errors())


@pytest.mark.parametrize(
    "record",
    [{}, {"a": 1, "b": "x", "c": None, "d": True}, {"a": [1, "x", None, [2]]}, nested(6), {"signature": "ünïcödé"}],
)
def test_plain_records_are_taken(record):
    assert plain(record) is record
    assert MessageIn(message=record).message == record


@pytest.mark.parametrize(
    "record",
    [
        {"a": float(PRICE)}, {"a": [float(PRICE)]}, {"a": {"b": PRICE + 0.5}}, {str(PRICE): 1}, {"A": 1}, {"": 1},
        {"a b": 1}, {"a": {str(PRICE): 1}}, {"a" * 41: 1}, nested(8), nested(900), {"a": "\ud800"}, {"a": ["\ud800"]},
        {"a": float("nan")}, {"a": [nested(7)]},
    ],
)  # fmt: skip
def test_others_are_refused_without_a_word_of_them(record):
    told = refusal(MessageIn, {"message": record})
    assert not Canary(PRICE).within(told.encode())


@pytest.mark.parametrize(
    "envelope",
    [
        {}, {"reserve": PRICE}, {**ENVELOPE, "reserve": PRICE}, {**ENVELOPE, "point": PRICE},
        {**ENVELOPE, "proof": "x"},
        {**ENVELOPE, "proof": {"challenge": PRICE + 0.5}}, {**ENVELOPE, "proof": {str(PRICE): "x"}},
        {name: part for name, part in ENVELOPE.items() if name != "second"}, {**ENVELOPE, "sealed": ["00"]},
    ],
)  # fmt: skip
def test_an_envelope_of_another_shape_is_refused(envelope):
    told = refusal(BidIn, {"bid": {**BID, "envelope": envelope}, "signature": SIGNATURE})
    assert not Canary(PRICE).within(told.encode())
    assert BidIn.model_validate({"bid": {**BID, "envelope": ENVELOPE}, "signature": SIGNATURE})


def test_a_manifest_whose_numbers_are_none_is_refused():
    said = {"market": "0a", "owner": OWNER, "values": HEX64}

    def delivery(**manifest):
        return {"delivery": {**said, "manifest": manifest}, "signature": SIGNATURE, "values": ""}

    assert DeliveryIn.model_validate(delivery(epsilon="1.5", delta=None, unit="record", records=5))
    for manifest in ({"epsilon": f"{PRICE}x"}, {"scale": ""}, {str(PRICE): "1"}, {"low": "one"}):
        assert not Canary(PRICE).within(refusal(DeliveryIn, delivery(**manifest)).encode())


@pytest.mark.parametrize("odd", ["\x00", "a\x00b", "\ud800", "x" * 2001, "\x1b[2J", "\x7f", "\r"])
def test_text_that_no_database_keeps_is_refused(odd):
    refusal(AccountIn, {"name": odd, "role": "owner"})
    refusal(DisputeIn, {"text": odd})
    assert DisputeIn(text="two\nlines\tand ünïcödé").text


def test_what_is_told_of_a_value_is_that_there_was_one():
    fault = InputError(f"value 3 is {float(PRICE)!r}, which lies off", remedy="Mend it.", value=float(PRICE))
    assert without_value(fault.problem, fault) == "value 3 is what was sent, which lies off"
    assert without_value("prior 'x:1' is none", InputError("", remedy="", value="x:1")) == "prior what was sent is none"
    assert without_value("there are 59 values", InputError("", remedy="", value=59)) == "there are 59 values"
    assert without_value("as it is", EvidenceError("", remedy="")) == without_value("as it is", None) == "as it is"


def test_names_of_others_are_not_told():
    assert [_place(part) for part in ("body", 3, "Idempotency-Key", str(PRICE), "a b", "x" * 41)] == [
        "body", "3", "Idempotency-Key", "?", "?", "?",
    ]  # fmt: skip
