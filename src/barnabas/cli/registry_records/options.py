"""Options that ``consume`` and ``produce`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.registry_records.formats import Format

RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry",
        "-r",
        metavar="URL",
        help="The address of the schema registry; otherwise BARNABAS_REGISTRY, or schema.registry.url of the client's properties.",
    ),
]
RegistryLogin = Annotated[
    str | None,
    typer.Option("--registry-login", envvar="BARNABAS_REGISTRY_LOGIN", metavar="NAME:PASSWORD", help="A user of the registry."),
]
ShownKeys = Annotated[
    Format | None,
    typer.Option("--key-format", help="How to print keys; auto decodes those that name a schema, and is the default with --registry."),
]
ShownValues = Annotated[
    Format | None,
    typer.Option("--value-format", help="How to print values; auto decodes those that name a schema, and is the default with --registry."),
]
ReadKeys = Annotated[Format | None, typer.Option("--key-format", help="The notation of keys; those of schemas are JSON.")]
ReadValues = Annotated[Format | None, typer.Option("--value-format", help="The notation of values; those of schemas are JSON.")]

KeySchema = Annotated[
    Path | None, typer.Option("--key-schema", metavar="FILE", help="Register this schema for keys: .avsc, .json or .proto.")
]
KeySchemaId = Annotated[int | None, typer.Option("--key-schema-id", min=0, help="The id of the schema of keys.")]
KeySchemaVersion = Annotated[
    int | None, typer.Option("--key-schema-version", min=1, help="The version of the schema of keys; default: the latest.")
]
KeySubject = Annotated[str | None, typer.Option("--key-subject", metavar="SUBJECT", help="The subject of keys; default: TOPIC-key.")]
KeyMessage = Annotated[
    str | None, typer.Option("--key-message", metavar="NAME", help="The Protobuf message of keys; default: the first of the schema.")
]

ValueSchema = Annotated[
    Path | None, typer.Option("--value-schema", metavar="FILE", help="Register this schema for values: .avsc, .json or .proto.")
]
ValueSchemaId = Annotated[int | None, typer.Option("--value-schema-id", min=0, help="The id of the schema of values.")]
ValueSchemaVersion = Annotated[
    int | None, typer.Option("--value-schema-version", min=1, help="The version of the schema of values; default: the latest.")
]
ValueSubject = Annotated[
    str | None, typer.Option("--value-subject", metavar="SUBJECT", help="The subject of values; default: TOPIC-value.")
]
ValueMessage = Annotated[
    str | None, typer.Option("--value-message", metavar="NAME", help="The Protobuf message of values; default: the first of the schema.")
]
SchemaReferences = Annotated[
    list[str],
    typer.Option("--schema-reference", metavar="NAME=SUBJECT:VERSION", help="A schema that the files use; may be given several times."),
]
