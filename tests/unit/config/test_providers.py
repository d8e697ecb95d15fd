"""Values that configuration providers fetch."""

from __future__ import annotations

import os
from typing import ClassVar

import pytest

from barnabas.config.keys import ConfigError
from barnabas.config.providers import resolve

CLASS = "org.apache.kafka.common.config.provider."
SECRET = "never-show-this"
FILE = {"config.providers": "file", "config.providers.file.class": f"{CLASS}FileConfigProvider"}
DIRECTORY = {"config.providers": "dir", "config.providers.dir.class": f"{CLASS}DirectoryConfigProvider"}
ENVIRONMENT = {"config.providers": "env", "config.providers.env.class": f"{CLASS}EnvVarConfigProvider"}


class Files:
    """A system with three files and two variables. /allowed/link leads out of its directory."""

    files: ClassVar = {
        "/etc/secrets": f"password={SECRET}\nname=alice\nreference=${{file:/etc/secrets:password}}\n",
        "/allowed/password": f"{SECRET}\n",
        "/allowed/link": SECRET,
    }
    variables: ClassVar = {"PASSWORD": SECRET, "HOME": "/root"}

    def text(self, path: str) -> str:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def real_path(self, path: str) -> str:
        return "/elsewhere" if path == "/allowed/link" else os.path.normpath(path)

    def variable(self, name: str) -> str | None:
        return self.variables.get(name)


def resolved(value: str, providers: dict[str, str]) -> str:
    return resolve({**providers, "setting": value}, Files())["setting"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${file:/etc/secrets:password}", SECRET),
        ("<${file:/etc/secrets:name}|${file:/etc/secrets:name}>", "<alice|alice>"),
        ("${file:/etc/secrets:reference}", "${file:/etc/secrets:password}"),
        ("${other:/etc/secrets:name}", "${other:/etc/secrets:name}"),
        ("$ROOT ${nothing} {file:x:y}", "$ROOT ${nothing} {file:x:y}"),
    ],
)
def test_references_to_a_file_are_replaced_once(value: str, expected: str) -> None:
    assert resolved(value, FILE) == expected


def test_the_content_of_a_file_in_a_directory_is_a_value() -> None:
    assert resolved("${dir:/allowed:password}", DIRECTORY) == f"{SECRET}\n"


def test_a_variable_is_a_value() -> None:
    assert resolved("x${env:PASSWORD}", ENVIRONMENT) == f"x{SECRET}"


def test_without_providers_nothing_is_replaced() -> None:
    assert resolved("${env:PASSWORD}", {}) == "${env:PASSWORD}"


@pytest.mark.parametrize(
    ("value", "providers", "sentence"),
    [
        (
            "${file:/etc/secrets:missing}",
            FILE,
            r"setting refers to \$\{file:/etc/secrets:missing\}, but /etc/secrets has no key 'missing'\.",
        ),
        ("${file:/etc/none:key}", FILE, "but /etc/none cannot be read: No such file or directory"),
        ("${file:key}", FILE, "but a path is missing"),
        ("${file:/etc/secrets:password}", {**FILE, "config.providers.file.param.allowed.paths": "/allowed"}, "do not have this path"),
        ("${file:/allowed/../etc/secrets:password}", {**FILE, "config.providers.file.param.allowed.paths": "/allowed"}, "do not have"),
        ("${dir:/allowed:link}", {**DIRECTORY, "config.providers.dir.param.allowed.paths": "/allowed"}, "do not have this path"),
        ("${dir:/allowed:../etc/secrets}", DIRECTORY, "is not the name of a file"),
        ("${dir:/allowedness:x}", {**DIRECTORY, "config.providers.dir.param.allowed.paths": "/allowed"}, "do not have this path"),
        ("${env:MISSING}", ENVIRONMENT, "there is no such environment variable"),
        ("${env:path:PASSWORD}", ENVIRONMENT, "the environment has no paths"),
        ("${env:HOME}", {**ENVIRONMENT, "config.providers.env.param.allowlist.pattern": "PASS.*"}, "does not have this name"),
    ],
)
def test_a_value_that_cannot_be_fetched_is_an_error(value: str, providers: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        resolved(value, providers)
    assert SECRET not in str(refused.value)


def test_allowed_paths_and_names_let_pass_what_they_name() -> None:
    allowed = {**DIRECTORY, "config.providers.dir.param.allowed.paths": "/other, /allowed/"}
    assert resolved("${dir:/allowed:password}", allowed) == f"{SECRET}\n"
    assert resolved("${env:PASSWORD}", {**ENVIRONMENT, "config.providers.env.param.allowlist.pattern": "PASS.*"}) == SECRET


@pytest.mark.parametrize(
    ("providers", "sentence"),
    [
        ({"config.providers": "vault"}, "config.providers.vault.class must be set"),
        ({"config.providers": "vault", "config.providers.vault.class": "com.example.Vault"}, "only these classes have an equivalent"),
        ({**FILE, "config.providers.file.param.allowed.paths": "etc"}, "paths must be absolute"),
        ({**ENVIRONMENT, "config.providers.env.param.allowlist.pattern": "("}, "is not a regular expression"),
    ],
)
def test_a_provider_that_cannot_be_used_is_refused(providers: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        resolved("x", providers)
