"""Every path of Confluent's API is served or refused on purpose, in Confluent's own form."""

from __future__ import annotations

import pytest

from barnabas.registry.routes import ROUTES
from tests.scenarios.registry.registry_client import Client

# The methods and paths of Confluent's registry 8.4; arguments have the names of this registry.
CONFLUENTS = """
GET /                                                     POST /
GET /v1/metadata/id                                       GET /v1/metadata/version
GET /v1/metadata/deployment                               GET /contexts
DELETE /contexts/{context}                                GET /subjects
POST /subjects/{subject}                                  DELETE /subjects/{subject}
GET /subjects/{subject}/metadata                          GET /subjects/{subject}/versions
POST /subjects/{subject}/versions                         GET /subjects/{subject}/versions/{version}
DELETE /subjects/{subject}/versions/{version}             GET /subjects/{subject}/versions/{version}/schema
GET /subjects/{subject}/versions/{version}/referencedby   POST /subjects/{subject}/versions/{version}/tags
GET /schemas                                              GET /schemas/types
GET /schemas/ids/{id}                                     GET /schemas/ids/{id}/schema
GET /schemas/ids/{id}/subjects                            GET /schemas/ids/{id}/versions
GET /schemas/guids/{guid}                                 GET /schemas/guids/{guid}/ids
POST /compatibility/subjects/{subject}/versions           POST /compatibility/subjects/{subject}/versions/{version}
GET /config                                               PUT /config
DELETE /config                                            GET /config/{subject}
PUT /config/{subject}                                     DELETE /config/{subject}
GET /mode                                                 PUT /mode
DELETE /mode                                              GET /mode/{subject}
PUT /mode/{subject}                                       DELETE /mode/{subject}
GET /associations/subjects/{subject}                      GET /associations/resources/{namespace}/{name}
GET /associations/resources/{resource}                    PUT /associations/resources/{resource}
DELETE /associations/resources/{resource}                 POST /associations
POST /associations:batchGet                               POST /associations:batchMutate
"""


def test_the_routes_are_those_of_confluents_registry() -> None:
    words = CONFLUENTS.split()
    assert {(route.method, route.template) for route in ROUTES} == set(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("path", ["/dek-registry/v1/keks", "/dek-registry/v1/keks/k/deks", "/nowhere"])
def test_paths_that_are_not_served_get_confluents_error(client: Client, path: str) -> None:
    assert client.get(path) == (404, {"error_code": 404, "message": "HTTP 404 Not Found"})


def test_the_deployment_has_no_attributes(client: Client) -> None:
    assert client.get("/v1/metadata/deployment") == (200, {"attributes": []})
