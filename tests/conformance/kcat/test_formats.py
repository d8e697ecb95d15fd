"""The same topic through ``kcat -C`` and ``barnabas consume``: the same bytes come out."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import Cli
from tests.conformance.kcat.conftest import Kcat

ALL = ("--from-beginning", "--until-end")
KCAT_ALL = ("-C", "-q", "-e", "-o", "beginning")


@pytest.mark.parametrize(
    "template",
    [
        "%s",
        "%s\\n",
        "%k\\n",
        "%t [%p] at offset %o: key %k: %s\\n",
        "%T %K %S|",
        "%R%s",
        "%h\\n",
        "%k\\t%s\\r\\n",
        "100%% \\x41\\x09\\\\ %o;",
        "\\q\\:%o",
        "\u00fc %o\\n",
        "no letters;",
    ],
)
def test_every_letter_and_escape_prints_the_bytes_of_kcat(kcat: Kcat, cli: Cli, mixed: str, template: str) -> None:
    assert cli("consume", mixed, *ALL, "--format", template).worked().out == kcat(*KCAT_ALL, "-t", mixed, "-f", template)


@pytest.mark.parametrize("words", [(), ("-K", ":"), ("-K", "\\t"), ("-D", ";"), ("-K", "=>", "-D", "\\n\\n"), ("-D", "\\x01")])
def test_lines_keys_and_delimiters_are_those_of_kcat(kcat: Kcat, cli: Cli, mixed: str, words: tuple[str, ...]) -> None:
    assert cli("consume", mixed, *ALL, *words).worked().out == kcat(*KCAT_ALL, "-t", mixed, *words)


def test_null_is_marked_as_in_kcat_but_empty_is_not(kcat: Kcat, cli: Cli, mixed: str) -> None:
    """kcat cannot tell an empty value from null with -Z; the lengths can."""
    template = "%k|%s|%K|%S\\x01"
    ours = cli("consume", mixed, *ALL, "-Z", "-f", template).worked().out.split(b"\x01")
    theirs = kcat(*KCAT_ALL, "-t", mixed, "-Z", "-f", template).split(b"\x01")
    differing = [(one, other) for one, other in zip(ours, theirs, strict=True) if one != other]
    assert differing == [(b"||0|0", b"NULL|NULL|0|0")]
    assert sum(b"NULL" in each for each in ours) == 2  # one null key, and one null value


def test_json_has_the_fields_of_kcats_envelope(kcat: Kcat, cli: Cli, wide: str) -> None:
    """The names differ: payload is value, ts is timestamp, tstype is timestamp_type."""
    ours = cli("consume", wide, *ALL, "--json").json_lines
    theirs = [json.loads(line) for line in kcat(*KCAT_ALL, "-t", wide, "-J").splitlines()]
    assert _places([(each["partition"], each["offset"], each["timestamp"], each["key"], each["value"]) for each in ours]) == _places(
        [(each["partition"], each["offset"], each["ts"], each["key"], each["payload"]) for each in theirs]
    )


def _places(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(rows, key=repr)


def test_a_header_whose_name_is_not_utf_8_is_an_error_with_its_place(kcat: Kcat, cli: Cli) -> None:
    """confluent-kafka cannot decode it, while kcat prints the bytes."""
    cli("topics", "create", "odd").worked()
    cli("produce", "odd", "--value", "good").worked()
    kcat("-P", "-t", "odd", "-H", b"\xff=1", stdin=b"x\n")
    assert cli("consume", "odd", *ALL).text == "good\nx\n"
    refused = cli("consume", "odd", *ALL, "--format", "%s %h\\n")
    assert refused.out == b"good \n"
    assert "The record in odd-0 at offset 1 has a header whose name is not UTF-8" in refused.complaint
