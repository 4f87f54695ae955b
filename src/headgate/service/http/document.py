"""Document: the API as OpenAPI 3.1 describes it, made of its routes and forms."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from headgate.rules.model.table import closed
from headgate.service.http.asking import TYPE, Asking
from headgate.service.http.routes import Example, Route
from headgate.service.http.saying import Answer, answer

HERE = "#/components/schemas/"
PROBLEM = "application/problem+json"
TEXT = {"type": "string"}
WAIT = {"type": ["number", "null"], "description": "Seconds; null where no wait helps."}
DECISION = {
    "type": "object",
    "description": "The answer to one question.",
    "properties": {
        "allowed": {"type": "boolean"},
        "limit": {"type": "integer", "description": "What the tightest limit holds."},
        "remaining": {"type": "integer", "description": "What is left of it."},
        "retry_after": WAIT,
        "reset_after": {"type": "number", "description": "Seconds until the key is as new."},
        "reason": {"enum": ["", "limit", "never", "unavailable"]},
        "rule": {"type": "string", "description": "The limit that this is about."},
        "degraded": {"type": "boolean", "description": "Whether the store was not asked."},
    },
}
SCHEMAS: dict[str, Any] = {
    "Decision": DECISION,
    "Answers": {
        "type": "object",
        "properties": {"answers": {"type": "array", "items": {"$ref": f"{HERE}Decision"}}},
    },
    "Problem": {
        "type": "object",
        "description": "What is wrong, as RFC 9457 has it.",
        "properties": {
            "type": TEXT, "title": TEXT, "status": {"type": "integer"}, "detail": TEXT,
            "problems": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": TEXT, "says": TEXT}},
            },
        },
    },
}  # fmt: skip
# Everywhere, unless a route says otherwise.
USUAL = {
    400: "The request is malformed, or says what cannot be; `problems` tell where.",
    401: "No token was shown that is known here.",
    403: "The caller may not ask that.",
    413: "The body is longer than is taken here.",
    429: "The caller asks too much of the service itself.",
}
TOKENS = {
    "token": {"type": "http", "scheme": "bearer"},
    "proxy": {"type": "apiKey", "in": "header", "name": "x-headgate-token"},
}


def document(asking: Asking) -> Answer:
    """The document."""
    return answer(described(asking.clerk.routes.routes, asking.hall.keeper.version))


def described(routes: tuple[Route, ...], version: str) -> dict[str, Any]:
    """The API with these routes."""
    paths: dict[str, Any] = {}
    for route in routes:
        methods = AUTH if route.method == "*" else (route.method,)
        for method in methods:
            path = route.path.replace("...}", "}")
            paths.setdefault(path, {})[method.lower()] = operation(route, method)
    forms = {form.__name__: form for route in routes for form in route.forms}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headgate",
            "version": "1",
            "description": f"Limits and rules for whoever asks. The rules in force are {version}.",
        },
        "paths": paths,
        "components": {
            "schemas": {**SCHEMAS, **{name: closed(form) for name, form in forms.items()}},
            "securitySchemes": TOKENS,
        },
    }


# Of those by which a proxy may ask, all that OpenAPI has a word for.
AUTH = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def operation(route: Route, method: str) -> dict[str, Any]:
    """What is done at one path with one method."""
    found: dict[str, Any] = {
        "operationId": named(route, method),
        "summary": route.says,
        "parameters": [*path(route), *query(route)],
        "responses": responses(route),
        "security": [] if route.open else [{}, secured(route)],
    }
    if route.forms:
        content = {"schema": either(route), **examples(route.examples, "asked")}
        found["requestBody"] = {"required": True, "content": {TYPE: content}}
    return found


def named(route: Route, method: str) -> str:
    words = [word.strip("{}.") for word in route.path.split("/") if word]
    return "_".join([method.lower(), *words]).replace(".", "_")


def secured(route: Route) -> dict[str, Any]:
    return {"token" if route.header == b"authorization" else "proxy": []}


def either(route: Route) -> dict[str, Any]:
    references = [{"$ref": f"{HERE}{form.__name__}"} for form in route.forms]
    return references[0] if len(references) == 1 else {"oneOf": references}


def path(route: Route) -> list[dict[str, Any]]:
    words = [word.strip("{}.") for word in route.path.split("/") if word.startswith("{")]
    return [{"name": word, "in": "path", "required": True, "schema": TEXT} for word in words]


def query(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "description": says, "schema": TEXT}
        for name, says in route.query.items()
    ]


def responses(route: Route) -> dict[str, Any]:
    """What may be answered, by status."""
    usual = {} if route.open else USUAL
    found: dict[str, Any] = {}
    for status, says in sorted({**usual, **route.told}.items()):
        entry: dict[str, Any] = {"description": says}
        schema, kind = shape(route, status)
        shown = [one for one in route.examples if one.status == status and one.told is not None]
        if schema:
            entry["content"] = {kind: {"schema": schema, **examples(tuple(shown), "told")}}
        found[str(status)] = entry
    return found


def shape(route: Route, status: int) -> tuple[dict[str, Any], str]:
    """What the body of an answer is, and its type."""
    decided = route.schema == "Decision" and status in (403, 429, 503) and status in route.told
    if status < 300 or decided:
        if route.schema == "text":
            return TEXT, "text/plain"
        if route.schema in SCHEMAS:
            wide = [{"$ref": f"{HERE}{one}"} for one in wider(route, status)]
            return (wide[0] if len(wide) == 1 else {"anyOf": wide}), TYPE
        return ({"type": "object"} if route.schema else {}), TYPE
    if route.schema == "object" and status in route.told and status == 503:
        return {"type": "object"}, TYPE
    return {"$ref": f"{HERE}Problem"}, PROBLEM


def wider(route: Route, status: int) -> list[str]:
    """A decision, or several where many can be asked about."""
    several = status == HTTPStatus.OK and len(route.forms) > 1
    return [route.schema, "Answers"] if several else [route.schema]


def examples(given: tuple[Example, ...], part: str) -> dict[str, Any]:
    """Examples of what is asked, or told."""
    found = {
        one.name: {"summary": one.says, "value": getattr(one, part)}
        for one in given
        if getattr(one, part) is not None
    }
    return {"examples": found} if found else {}
