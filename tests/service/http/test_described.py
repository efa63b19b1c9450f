"""The interface's own description: what each operation does, takes and answers, with examples that are right."""

import pytest

from kantor.service.http import models
from kantor.service.http.app import make_app
from kantor.service.http.drafts import TermsIn
from kantor.service.http.models import DeliveryIn
from kantor.service.settings import Settings

BODIES = {name: getattr(models, name) for name in models.__all__ if name.endswith("In")} | {"TermsIn": TermsIn}
HEALTH = ("/livez", "/readyz", "/metrics")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    exchange = Settings(tmp_path_factory.mktemp("server")).exchange()
    yield make_app(exchange).openapi()
    exchange.store.close()


def operations(described):
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_operation_says_what_it_does_and_where_it_belongs(described):
    for name, operation in operations(described):
        assert operation["description"].endswith((".", ")")), name
        assert operation["tags"], name
        named = [parameter["name"] for parameter in operation.get("parameters", [])]
        if name.startswith("POST"):
            assert "Idempotency-Key" in named, name
        if name.partition(" ")[2] not in HEALTH:
            assert operation["security"] == [{"HTTPBearer": []}], name


def test_every_refusal_is_declared_as_a_problem(described):
    for name, operation in operations(described):
        found = operation["responses"]
        refusals = {status for status in found if status >= "400"}
        if name.partition(" ")[2] not in HEALTH:
            assert refusals == {"400", "401", "403", "404", "409", "413", "422", "429", "500", "503"}, name
        for status in refusals:
            content = found[status]["content"]
            assert list(content) == ["application/problem+json"], (name, status)
            assert content["application/problem+json"]["schema"]["required"] == ["type", "title", "status", "detail"]
        good = [status for status in found if status < "300"]
        assert good == ["201" if name.startswith("POST") else "200"], name


def test_every_parameter_is_described(described):
    for name, operation in operations(described):
        for parameter in operation.get("parameters", []):
            known = (
                parameter.get("description") or parameter["schema"].get("enum") or parameter["schema"].get("maximum")
            )
            assert known, (name, parameter["name"])


@pytest.mark.parametrize("name", BODIES)
def test_every_body_has_an_example_that_is_right(described, name):
    schema = described["components"]["schemas"][name]
    examples = schema.get("examples") or [
        {field: part["examples"][0] for field, part in schema["properties"].items() if "examples" in part}
    ]
    for example in examples:
        assert BODIES[name].model_validate(example)
        assert set(schema.get("required", [])) <= set(example)


def test_every_body_is_used(described):
    used = set()
    for _, operation in operations(described):
        if "requestBody" in operation:
            used.add(operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2])
    assert used == set(BODIES)
    assert DeliveryIn.__name__ in used
