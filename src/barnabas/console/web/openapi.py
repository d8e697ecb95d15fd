"""The OpenAPI document, made from the operations themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_type_hints

from starlette.responses import Response

from barnabas import __version__
from barnabas.console.web.json_values import schema_of
from barnabas.console.web.operation import Changed, Operation, Stream

_ERROR: Final = {
    "type": "object",
    "properties": {
        "error": {"type": "string"},
        "status": {"type": "integer"},
        "parameter": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["error", "status"],
}
_DESCRIPTION: Final = (
    "Every page of the console shows the answer of one of these operations: its address without /api. "
    "A change needs the cookie of a session and its token from /api/session in the header X-CSRF-Token; "
    "a request with HTTP Basic credentials of a user of the cluster needs neither."
)


def openapi_document(operations: Iterable[Operation]) -> dict[str, Any]:
    schemas: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(f"/api{each.path}", {})[each.method.lower()] = _described(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Barnabas console", "version": __version__, "description": _DESCRIPTION},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _described(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in operation.path_names]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.section or "console"],
        "responses": {
            "200": {"description": "The answer.", "content": _content(operation, schemas)},
            "default": {
                "description": "An error.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if operation.method == "GET":
        parameters += [
            {"name": each.name, "in": "query", "required": each.required, "description": each.sentence, "schema": each.schema()}
            for each in operation.parameters
        ]
    elif operation.parameters:
        body = {
            "type": "object",
            "properties": {each.name: {**each.schema(), "description": each.sentence} for each in operation.parameters},
            "required": [each.name for each in operation.parameters if each.required],
        }
        described["requestBody"] = {"content": {"application/json": {"schema": body}}}
    if parameters:
        described["parameters"] = parameters
    return described


def _content(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = get_type_hints(operation.function, localns={"Call": Any}).get("return", Changed)
    if isinstance(answer, type) and issubclass(answer, Stream | Response):
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": schema_of(answer, schemas)}}
