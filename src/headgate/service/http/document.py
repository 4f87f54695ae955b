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
PLAIN = "text/plain"
# What a decision may be told with that is no.
DECIDED = (403, 429, 503)
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
# The same, where a body is read.
READ = {**USUAL, 415: "The body is not said to be JSON."}
# Parameters that are numbers: the least, and the most.
BOUNDS = {"deny": (400, 599), "status": (200, 599), "limit": (1, 512)}
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
        {"name": name, "in": "query", "description": says, "schema": bounded(name)}
        for name, says in route.query.items()
    ]


def bounded(name: str) -> dict[str, Any]:
    if name not in BOUNDS:
        return TEXT
    least, most = BOUNDS[name]
    return {"type": "integer", "minimum": least, "maximum": most}


def responses(route: Route) -> dict[str, Any]:
    """What may be answered, by status."""
    usual = {} if route.open else READ if route.forms else USUAL
    found: dict[str, Any] = {}
    for status, says in sorted({**usual, **route.told}.items()):
        entry: dict[str, Any] = {"description": says}
        shown = [one for one in route.examples if one.status == status and one.told is not None]
        content = {
            kind: {
                "schema": schema,
                **examples(tuple(one for one in shown if alike(one) == kind), "told"),
            }
            for kind, schema in shapes(route, status).items()
        }
        found[str(status)] = {**entry, "content": content} if content else entry
    return found


def alike(example: Example) -> str:
    """The type of what an example tells."""
    return PROBLEM if "detail" in example.told else TYPE


def shapes(route: Route, status: int) -> dict[str, dict[str, Any]]:
    """What the body of an answer may be, by its type."""
    if status < 300:
        return shape(route, status)
    found: dict[str, dict[str, Any]] = {}
    if status in route.plain:
        found[PLAIN] = TEXT
    elif status in DECIDED and status in route.told and route.schema:
        found[TYPE] = decided(route)
    if not route.open:
        # The caller may be told no as well, or the request be none.
        found[PROBLEM] = {"$ref": f"{HERE}Problem"}
    return found


def decided(route: Route) -> dict[str, Any]:
    counts = route.forms or route.schema in SCHEMAS
    return {"$ref": f"{HERE}Decision"} if counts else {"type": "object"}


def shape(route: Route, status: int) -> dict[str, dict[str, Any]]:
    """What the body of an answer is if all is well."""
    if route.schema == "text":
        return {PLAIN: TEXT}
    if route.schema in SCHEMAS:
        wide = [{"$ref": f"{HERE}{one}"} for one in wider(route, status)]
        return {TYPE: wide[0] if len(wide) == 1 else {"anyOf": wide}}
    return {TYPE: {"type": "object"}} if route.schema else {}


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
