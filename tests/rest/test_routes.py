"""Routes: the path as it was sent decides."""

from __future__ import annotations

import re
from pathlib import Path

import lance_namespace_urllib3_client
import pytest

from lanceyard import errors
from lanceyard.rest.protocol import EXTENSIONS, OPERATIONS
from lanceyard.server.routes import Match, Routes

ROUTES = Routes((*OPERATIONS, *EXTENSIONS))


def find(method: str, path: str) -> tuple[str, dict[str, str]]:
    """The operation at a path and what the path says."""
    found = ROUTES.find(method, path.encode())
    assert isinstance(found, Match)
    return found.operation.name, dict(found.fields)


def test_every_route_of_the_generated_client_is_served() -> None:
    folder = Path(lance_namespace_urllib3_client.__file__).parent / "api"
    texts = "".join(path.read_text() for path in folder.glob("*_api.py"))
    routes = re.findall(r"method='(\w+)',\s*resource_path='([^']+)'", texts)
    ours = {(each.method, "/" + "/".join(each.segments)) for each in OPERATIONS}
    assert {*routes} == ours
    assert len(ours) == 54


@pytest.mark.parametrize(
    ("path", "identifier"),
    [
        ("/v1/table/a%24b/describe", "a$b"),
        ("/v1/table/a$b/describe", "a$b"),
        ("/v1/table/a+b/describe", "a b"),
        ("/v1/table/a%2Bb/describe", "a+b"),
        ("/v1/table/a%20b/describe", "a b"),
        ("/v1/table/a%2Fb/describe", "a/b"),
        ("/v1/table/%C3%BC/describe", "ü"),
        ("/v1/table/a%25b/describe", "a%b"),
        ("//v1//table/t/describe/", "t"),
    ],
)
def test_a_name_is_decoded_once(path: str, identifier: str) -> None:
    assert find("POST", path) == ("DescribeTable", {"id": identifier})


def test_a_table_named_like_a_route_is_a_table() -> None:
    assert find("POST", "/v1/table/version/describe") == ("DescribeTable", {"id": "version"})
    assert find("POST", "/v1/table/version/batch-create") == ("BatchCreateTableVersions", {})


def test_an_index_is_named_in_the_path() -> None:
    found = find("POST", "/v1/table/t/index/list/stats")
    assert found == ("DescribeTableIndexStats", {"id": "t", "index_name": "list"})


def test_a_route_with_another_method_tells_which_it_has() -> None:
    assert ROUTES.find("GET", b"/v1/table/t/describe") == {"POST"}


@pytest.mark.parametrize("path", ["/", "/v1", "/v2/table/t/describe", "/v1/table/t/describe/x"])
def test_what_is_no_route_is_none(path: str) -> None:
    assert ROUTES.find("POST", path.encode()) == frozenset()


def test_a_path_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(errors.InvalidInputError):
        ROUTES.find("POST", b"/v1/table/%FF/describe")
