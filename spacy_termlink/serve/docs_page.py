"""The page that describes the API: made from its OpenAPI document, with nothing from elsewhere."""

import json
from html import escape
from typing import Any

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>termlink: the API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/style.css">
</head>
<body class="docs">
<header><h1>termlink: the API</h1>
<p><a href="./">Search and notes</a> <a href="openapi.json">openapi.json</a></p></header>
<main>
"""


def describe_api(openapi: dict[str, Any]) -> str:
    """An html page with every operation: parameters, body, answers, an example for a shell.

    openapi (dict): The OpenAPI document.
    """
    schemas = openapi["components"]["schemas"]
    sections = [
        _operation(path, method, operation, schemas)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]
    intro = f"<p>{escape(openapi['info']['description'])}</p>\n"
    return f"{_HEAD}{intro}{''.join(sections)}</main>\n</body>\n</html>\n"


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    parts = [f"<section>\n<h2><code>{method.upper()} {escape(path)}</code></h2>\n"]
    parts.append(f"<p>{escape(operation.get('description', ''))}</p>\n")
    fields = [
        (p["name"], p["schema"], p.get("required", False), p.get("description", ""))
        for p in operation.get("parameters", ())
    ]
    parts.append(_table("Parameters", fields, required="required"))
    body = _schema_of(operation.get("requestBody"))
    if body:
        parts.append(_model("Body (JSON)", body, schemas, required="required"))
    for status, answer in operation["responses"].items():
        name = _schema_of(answer)
        if name and status == "200":
            parts.append(_model("Answer", name, schemas, required="always there"))
    refusals = [
        f"<li>{escape(status)}: {escape(answer['description'])}</li>"
        for status, answer in operation["responses"].items()
        if status != "200"
    ]
    if refusals:
        parts.append(
            f'<h3>Refusals, as <code>{{"detail": …}}</code></h3>\n<ul>{"".join(refusals)}</ul>\n'
        )
    parts.append(f"<pre><code>{escape(_example(path, bool(body)))}</code></pre>\n")
    return "".join([*parts, "</section>\n"])


def _model(title: str, name: str, schemas: dict[str, Any], *, required: str) -> str:
    """The fields of a model, then those of the models it holds."""
    schema = schemas[name]
    always = schema.get("required", ())
    fields = [
        (key, value, key in always, value.get("description", ""))
        for key, value in schema.get("properties", {}).items()
    ]
    nested = [
        _model(f"{title}: {key}", inner, schemas, required=required)
        for key, value in schema.get("properties", {}).items()
        if (inner := _ref(value.get("items", value)))
    ]
    return _table(title, fields, required=required) + "".join(nested)


def _table(
    title: str, fields: list[tuple[str, dict[str, Any], bool, str]], *, required: str
) -> str:
    if not fields:
        return ""
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{escape(_type(schema))}</td>'
        f"<td>{'yes' if must else 'no'}</td><td>{escape(text)}</td></tr>\n"
        for name, schema, must, text in fields
    )
    head = "".join(
        f'<th scope="col">{column}</th>' for column in ("name", "type", required, "meaning")
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><caption>{escape(title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{rows}</tbody></table></div>\n"
    )


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return _ref(schema) or schema.get("type", "any")


def _ref(schema: dict[str, Any]) -> str:
    return schema.get("$ref", "").rpartition("/")[2]


def _schema_of(part: Any) -> str:
    """Name of the model of a request or a response, "" where there is none."""
    content = (part or {}).get("content", {})
    return _ref(content.get("application/json", {}).get("schema", {}))


def _example(path: str, body: bool) -> str:
    address = "http://127.0.0.1:8765" + path.replace("{concept_id}", "ID")
    if body:
        data = json.dumps({"text": "..."})
        return f"curl -H 'Content-Type: application/json' -d '{data}' {address}"
    return f"curl '{address}{'?text=...' if path == '/search' else ''}'"
