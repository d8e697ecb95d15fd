"""``barnabas schemas`` beside a registry, and with files alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.registry_process import RegistryProcess

OLD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "note", "type": "string", "default": ""}]}
WORSE = {**OLD, "fields": [*OLD["fields"], {"name": "note", "type": "string"}]}

barnabas = Cli()


@pytest.fixture(scope="module")
def kafka_of_module() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as kafka:
        yield kafka


@pytest.fixture
def registry(kafka_of_module: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[str]:
    name = request.node.name[:60]
    with RegistryProcess(kafka_of_module.bootstrap, "--topic", f"_schemas-{name}", "--group", name) as process:
        yield process.url


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, schema in (("old", OLD), ("new", NEW), ("worse", WORSE)):
        (tmp_path / f"{name}.avsc").write_text(json.dumps(schema))
    (tmp_path / "order.proto").write_text('syntax = "proto3"; message Order { int64 id = 1; }')
    return tmp_path


def test_a_schema_is_registered_listed_compared_and_deleted(registry: str, files: Path) -> None:
    at = ("--registry", registry)
    assert barnabas("schemas", "list", "--json", *at).json == []
    assert barnabas("schemas", "register", "orders-value", str(files / "old.avsc"), *at).text == "orders-value version 1 has the id 1.\n"
    assert barnabas("schemas", "register", "p", str(files / "order.proto"), *at).text == "p version 1 has the id 2.\n"
    refused = barnabas("schemas", "check", "orders-value", str(files / "worse.avsc"), *at)
    assert refused.code == 1
    assert b"READER_FIELD_MISSING_DEFAULT_VALUE" in refused.out
    assert barnabas("schemas", "register", "orders-value", str(files / "worse.avsc"), *at).code == 1
    barnabas("schemas", "register", "orders-value", str(files / "new.avsc"), *at)
    listed = barnabas("schemas", "list", *at).text.splitlines()
    assert [line.split() for line in listed] == [
        ["Subject", "Type", "Version", "Id"],
        ["orders-value", "AVRO", "2", "3"],
        ["p", "PROTOBUF", "1", "2"],
    ]
    assert json.loads(barnabas("schemas", "get", "orders-value", *at).text) == NEW
    assert barnabas("schemas", "get", "p", *at).text.startswith('syntax = "proto3";')
    changed = barnabas("schemas", "diff", "orders-value", *at).text
    assert '+      "name": "note",' in changed
    assert barnabas("schemas", "delete", "orders-value", "--version", "1", *at).text == "Deleted orders-value version 1.\n"
    assert barnabas("schemas", "delete", "p", *at).code == 0
    assert barnabas("schemas", "delete", "p", "--permanent", *at).text == "Deleted p version 1 for good.\n"


def test_an_export_is_imported_with_its_ids(registry: str, kafka_of_module: EmbeddedBroker, files: Path) -> None:
    at = ("--registry", registry)
    barnabas("schemas", "register", "a", str(files / "old.avsc"), *at)
    barnabas("schemas", "register", "a", str(files / "new.avsc"), *at)
    barnabas("schemas", "register", "b", str(files / "order.proto"), *at)
    lines = barnabas("schemas", "export", *at).text
    (files / "all.jsonl").write_text(lines)
    with RegistryProcess(kafka_of_module.bootstrap, "--topic", "_schemas-imported", "--group", "imported") as other:
        to = ("--registry", other.url)
        assert barnabas("schemas", "import", str(files / "all.jsonl"), *to).text == "Imported 3 versions.\n"
        assert barnabas("schemas", "export", *to).text == lines
        assert barnabas("schemas", "import", str(files / "all.jsonl"), *to).code == 1


@pytest.mark.parametrize(
    ("new", "level", "compatible"), [("new", "backward", True), ("worse", "BACKWARD", False), ("worse", "forward", True)]
)
def test_two_files_are_compared_without_a_registry(files: Path, new: str, level: str, compatible: bool) -> None:
    checked = barnabas("schemas", "check", str(files / "old.avsc"), str(files / f"{new}.avsc"), "--level", level, "--json")
    assert (checked.code, json.loads(checked.out)["compatible"]) == (0 if compatible else 1, compatible)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("list", "--registry", "localhost:8081"), "--registry takes a URL"),
        (("list", "--registry", "http://127.0.0.1:1"), "No registry answers at http://127.0.0.1:1"),
        (("check", "old.avsc", "missing.avsc"), "missing.avsc: No such file or directory."),
        (("check", "old.avsc", "order.txt"), "name its type with --type"),
        (("check", "old.avsc", "broken.avsc"), "broken.avsc: The schema is no JSON"),
        (("check", "old.avsc", "new.avsc", "--type", "xml"), "--type is avro, json or protobuf"),
        (("register", "s", "new.avsc", "--reference", "x"), "--reference takes name=subject:version"),
    ],
)
def test_a_mistake_gets_one_sentence(files: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str) -> None:
    (files / "broken.avsc").write_text("{")
    (files / "order.txt").write_text("")
    monkeypatch.chdir(files)
    refused = barnabas("schemas", *arguments)
    assert sentence in refused.complaint
