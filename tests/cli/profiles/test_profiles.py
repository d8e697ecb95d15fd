"""``barnabas profile``, and the clusters that other commands reach by it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli


@pytest.fixture
def cli() -> Cli:
    """Without an address: profiles are to name it."""
    return Cli()


def file_of(configuration_home: Path) -> Path:
    return configuration_home / "barnabas" / "profiles.toml"


def test_a_command_reaches_the_cluster_of_the_profile_in_use(cli: Cli, kafka: EmbeddedBroker) -> None:
    assert cli("profile", "add", "local", "-b", kafka.bootstrap).text == (
        "Saved profile local; `barnabas profile use local` makes commands use it.\n"
    )
    assert cli("profile", "use", "local").text == f"Commands use local now: {kafka.bootstrap}.\n"
    cli("topics", "create", "t").worked()
    assert cli("topics", "list").rows == [["t", "1", "1"]]
    assert cli("profile", "list").rows == [["local", "*", kafka.bootstrap]]


def test_a_profile_is_named_by_the_option_or_the_environment(cli: Cli, kafka: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("profile", "add", "dead", "-b", "127.0.0.1:1", "--use").worked()
    cli("profile", "add", "live", "-b", kafka.bootstrap).worked()
    assert cli("topics", "list").complaint == "No broker can be reached at 127.0.0.1:1 (connection refused)."
    assert cli("topics", "list", "--profile", "live").text == ""
    monkeypatch.setenv("BARNABAS_PROFILE", "live")
    assert cli("topics", "list").text == ""
    assert "127.0.0.1:1" in cli("topics", "list", "--profile", "dead").complaint
    assert "127.0.0.1:2" in cli("topics", "list", "--bootstrap", "127.0.0.1:2").complaint


def test_an_address_that_is_given_wins_over_the_profile_in_use(cli: Cli, kafka: EmbeddedBroker) -> None:
    cli("profile", "add", "dead", "-b", "127.0.0.1:1", "-X", "security.protocol=ssl", "--use").worked()
    assert cli("topics", "list", "--bootstrap-server", kafka.bootstrap).text == ""
    assert Cli(kafka.bootstrap)("topics", "list").text == ""


def test_only_the_owner_can_read_the_file(cli: Cli, configuration_home: Path) -> None:
    cli("profile", "add", "p", "-b", "a:1", "-X", "sasl.password=secret").worked()
    assert stat.S_IMODE(file_of(configuration_home).stat().st_mode) == 0o600
    assert [each.name for each in file_of(configuration_home).parent.iterdir()] == ["profiles.toml"]


def test_show_hides_secrets_unless_asked(cli: Cli) -> None:
    cli("profile", "add", "p", "-b", "a:1", "-X", "sasl.username=ann", "-X", "sasl.password=secret", "--use").worked()
    assert cli("profile", "show").rows == [["sasl.username", "ann"], ["sasl.password", "(hidden)"], ["bootstrap.servers", "a:1"]]
    assert cli("profile", "show", "p", "--secrets", "--json").json["properties"]["sasl.password"] == "secret"


def test_values_with_quotes_and_other_characters_are_read_back(cli: Cli) -> None:
    value = 'q"uo\\te #é日 =\t\x7f'
    cli("profile", "add", "p", "-b", "a:1", "-X", f"sasl.password={value}").worked()
    assert cli("profile", "show", "p", "--secrets", "--json").json["properties"]["sasl.password"] == value


def test_a_file_of_javas_properties_becomes_a_profile(cli: Cli, kafka: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={kafka.bootstrap}\nsecurity.protocol=PLAINTEXT\nmax.poll.records=5\n")
    cli("profile", "add", "java", "--config-file", file).worked()
    done = cli("topics", "list", "--profile", "java")
    assert (done.code, done.out) == (0, b"")
    assert done.err == "barnabas: max.poll.records has no effect here, because librdkafka has no equivalent.\n"


def test_removing_the_profile_in_use_leaves_none_in_use(cli: Cli) -> None:
    cli("profile", "add", "p", "-b", "a:1", "--use").worked()
    assert cli("profile", "remove", "p").text == "Removed profile p, and commands use no profile now.\n"
    assert cli("profile", "list", "--json").json == []
    cli("profile", "add", "p", "-b", "a:1", "--use").worked()
    assert cli("profile", "use", "--none").text == "Commands use no profile now.\n"
    assert [each["used"] for each in cli("profile", "list", "--json").json] == [False]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "p"), "A profile needs the addresses of its cluster: give --bootstrap, or bootstrap.servers in the file."),
        (("add", "p", "-b", ""), "A profile needs the addresses of its cluster: give --bootstrap, or bootstrap.servers in the file."),
        (("add", "p", "-b", "nowhere"), "--bootstrap takes host:port, several separated by commas, but was given 'nowhere'."),
        (("add", "a b", "-b", "a:1"), "A profile's name has letters, digits, dots, dashes and underscores, but was given 'a b'."),
        (("add", "p", "-b", "a:1", "-X", "nope"), "-X takes name=value, but was given 'nope'."),
        (("add", "there", "-b", "a:1"), "There is a profile there already; --replace replaces it."),
        (("use", "nope"), "There is no profile nope; there are there."),
        (("use",), "Give the name of a profile, or --none."),
        (("show",), "No profile is in use: give the name of one."),
        (("remove", "nope"), "There is no profile nope; there are there."),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_mistake_is_one_sentence(words: tuple[str, ...], sentence: str, cli: Cli) -> None:
    cli("profile", "add", "there", "-b", "a:1").worked()
    assert cli("profile", *words).complaint == sentence


def test_an_unknown_profile_is_one_sentence(cli: Cli) -> None:
    assert cli("topics", "list", "--profile", "nope").complaint == "There is no profile nope."
    assert cli("topics", "list", "--profile", "").complaint == "The name of a profile is empty."


def test_a_damaged_file_is_one_sentence_and_stops_no_command_with_an_address(
    cli: Cli, configuration_home: Path, kafka: EmbeddedBroker
) -> None:
    file = file_of(configuration_home)
    file.parent.mkdir(parents=True)
    for text, told in (
        ("use = ", "is not TOML"),
        ("profiles = 3", "must have a table of strings for each profile"),
        ("[profiles.p]\nport = 9092", "must have a table of strings for each profile"),
        ("use = 3", "must name one profile after use, but has 3."),
        ('use = "gone"', "There is no profile gone."),
    ):
        file.write_text(text)
        assert told in cli("topics", "list").complaint
        assert cli("topics", "list", "-b", kafka.bootstrap).text == ""


def test_without_xdg_config_home_the_file_is_in_the_home_directory(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative/path")
    cli("profile", "add", "p", "-b", "a:1").worked()
    assert (tmp_path / ".config" / "barnabas" / "profiles.toml").exists()
