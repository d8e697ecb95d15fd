"""``barnabas schemas``: list, get, register, check, diff, delete, export and import."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.schemas.registry_requests import Registry
from barnabas.cli.schemas.schema_files import parsed, references, text_of, type_of
from barnabas.cli.schemas.transfer import exported, import_all, read_lines
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.registry_client.requests import escaped
from barnabas.schemas.compatibility import Level, breaches

DEFAULT_URL = "http://localhost:8081"

Url = Annotated[str, typer.Option("--registry", "-r", envvar="BARNABAS_REGISTRY", metavar="URL", help="The address of the registry.")]
Login = Annotated[
    str | None, typer.Option("--login", envvar="BARNABAS_REGISTRY_LOGIN", metavar="NAME:PASSWORD", help="A user of the registry.")
]
Trusted = Annotated[Path | None, typer.Option("--tls-trusted", metavar="FILE", help="The authorities of the registry's certificate.")]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The subject, such as orders-value.")]
Version = Annotated[str, typer.Option("--version", metavar="N", help="A version, or latest.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="avro, json or protobuf; otherwise by the ending of the file.")]
References = Annotated[
    list[str], typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that this one uses; may be given several times.")
]
AtLevel = Annotated[Level, typer.Option("--level", case_sensitive=False, help="The level of compatibility of two files.")]


def register(app: typer.Typer) -> None:
    schemas = typer.Typer(help="Schemas of a registry: list, get, register, check, compare, delete and move them.", no_args_is_help=True)
    schemas.command("list")(list_subjects)
    schemas.command("get")(get)
    schemas.command("register")(register_schema)
    schemas.command("check")(check)
    schemas.command("diff")(diff)
    schemas.command("delete")(delete)
    schemas.command("export")(export)
    schemas.command("import")(import_schemas)
    app.add_typer(schemas, name="schemas")


def list_subjects(
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Only subjects that begin so.")] = "",
    as_json: AsJson = False,
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """List the subjects with their latest versions."""
    asked = _registry(registry, login, tls_trusted)
    found = asked.ask("GET", "/schemas", query={"subjectPrefix": prefix or ":*:", "latestOnly": "true"})
    if as_json:
        print_json(found)
        return
    rows = [(each["subject"], each.get("schemaType", "AVRO"), each["version"], each["id"]) for each in found]
    print_table(
        ["Subject", "Type", "Version", "Id"], rows, empty="The registry has no such subjects." if prefix else "The registry is empty."
    )


def get(
    subject: Subject,
    version: Version = "latest",
    as_json: AsJson = False,
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """Print the schema of a subject."""
    found = _registry(registry, login, tls_trusted).version(subject, version)
    if as_json:
        print_json(found)
    else:
        typer.echo(_readable(found).rstrip("\n"))


def register_schema(
    subject: Subject,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The schema: .avsc, .json or .proto.")],
    schema_type: Type = None,
    reference: References = [],  # noqa: B006
    normalize: Annotated[bool, typer.Option("--normalize", help="Ignore the order of what may stand in any order.")] = False,
    as_json: AsJson = False,
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """Register a schema; the same one again changes nothing."""
    body = _body(file, schema_type, reference)
    path = f"/subjects/{escaped(subject)}/versions"
    answer = _registry(registry, login, tls_trusted).ask("POST", path, body, query={"normalize": str(normalize).lower()})
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"{subject} version {answer.get('version', '?')} has the id {answer['id']}.")


def check(
    subject_or_file: Annotated[
        str, typer.Argument(metavar="SUBJECT|OLD", help="A subject of the registry, or the file of the older schema.")
    ],
    file: Annotated[Path, typer.Argument(metavar="NEW", help="The file of the new schema.")],
    level: AtLevel = Level.BACKWARD,
    schema_type: Type = None,
    reference: References = [],  # noqa: B006
    as_json: AsJson = False,
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """Say whether a schema may follow those of a subject, or that of a file; exit code 1 if not.

    Two files are compared without a registry, at --level. A subject has a level of its own.
    """
    older = Path(subject_or_file)
    if older.is_file():
        kind = type_of(file, schema_type)
        reasons = [str(each.difference) for each in breaches(parsed(file, kind), [parsed(older, type_of(older, schema_type))], level)]
    else:
        path = f"/compatibility/subjects/{escaped(subject_or_file)}/versions"
        answer = _registry(registry, login, tls_trusted).ask("POST", path, _body(file, schema_type, reference), query={"verbose": "true"})
        reasons = [] if answer["is_compatible"] else list(answer.get("messages") or ["The registry gives no reason."])
    if as_json:
        print_json({"compatible": not reasons, "reasons": reasons})
    elif not reasons:
        typer.echo(f"{file} is compatible.")
    else:
        typer.echo(f"{file} is not compatible:")
        for reason in reasons:
            typer.echo(f"  {reason}")
    if reasons:
        raise typer.Exit(1)


def diff(
    subject: Subject,
    older: Annotated[str, typer.Option("--from", metavar="N", help="The older version; the last but one if not given.")] = "",
    newer: Annotated[str, typer.Option("--to", metavar="N", help="The newer version.")] = "latest",
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """Print the difference between two versions of a subject."""
    asked = _registry(registry, login, tls_trusted)
    versions = asked.versions(subject)
    if not older and len(versions) < 2:
        raise Refused(f"{subject} has one version only.")
    before, after = asked.version(subject, older or str(versions[-2])), asked.version(subject, newer)
    lines = difflib.unified_diff(
        _readable(before).splitlines(),
        _readable(after).splitlines(),
        f"{subject} version {before['version']}",
        f"{subject} version {after['version']}",
        lineterm="",
    )
    for line in lines:
        typer.echo(line)


def delete(
    subject: Subject,
    version: Annotated[str | None, typer.Option("--version", metavar="N", help="Only this version.")] = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good; only what is deleted already.")] = False,
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """Delete a subject or one of its versions; records stay readable until --permanent."""
    path = f"/subjects/{escaped(subject)}" + (f"/versions/{escaped(version)}" if version is not None else "")
    gone = _registry(registry, login, tls_trusted).ask("DELETE", path, query={"permanent": str(permanent).lower()})
    numbers = gone if isinstance(gone, list) else [gone]
    typer.echo(f"Deleted {subject} version {', '.join(map(str, numbers))}{' for good' if permanent else ''}.")


def export(registry: Url = DEFAULT_URL, login: Login = None, tls_trusted: Trusted = None) -> None:
    """Print every version of every subject as JSON lines, which `import` takes back."""
    for version in exported(_registry(registry, login, tls_trusted)):
        typer.echo(json.dumps(version, ensure_ascii=False))


def import_schemas(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="JSON lines of `export`; standard input if not given.")] = None,
    registry: Url = DEFAULT_URL,
    login: Login = None,
    tls_trusted: Trusted = None,
) -> None:
    """Register exported schemas with their ids and versions; the registry must be empty."""
    lines = text_of(file).splitlines() if file is not None else sys.stdin.readlines()
    versions = list(read_lines(lines))
    count = import_all(_registry(registry, login, tls_trusted), versions, lambda _: None)
    typer.echo(f"Imported {count} version{'' if count == 1 else 's'}.")


def _registry(url: str, login: str | None, trusted: Path | None) -> Registry:
    if "://" not in url:
        raise Refused(f"--registry takes a URL such as {DEFAULT_URL}, but was given {url!r}.")
    return Registry(url, login, str(trusted) if trusted is not None else None)


def _body(file: Path, given_type: str | None, given_references: list[str]) -> dict[str, Any]:
    return {"schema": text_of(file), "schemaType": type_of(file, given_type).value, "references": references(given_references)}


def _readable(version: dict[str, Any]) -> str:
    """JSON in several lines; Protobuf as it is."""
    text = str(version["schema"])
    if version.get("schemaType") == "PROTOBUF":
        return text
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
