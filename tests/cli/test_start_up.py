"""What commands load, and what ``barnabas --help`` knows without loading them.

The claims are about modules, not about seconds: a module that is loaded takes its time on every
machine, and a measured time depends on the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.main import get_command

from barnabas import __version__
from barnabas.cli.main import COMMANDS, build_app
from barnabas.cli.summaries import SUMMARIES
from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli

_SHOW_MODULES = (
    "import sys, atexit;"
    "sys.argv[0] = 'barnabas';"
    "atexit.register(lambda: print('LOADED', *sorted(sys.modules), file=sys.stderr));"
    "from barnabas.cli.main import main; main()"
)
HEAVY = ("rich", "confluent_kafka", "pydantic", "asyncio", "uvloop", "ssl", "structlog", "prometheus_client", "yaml", "pyspark")
# Parts of a broker that only some settings or requests need: a start must not wait for them.
NOT_FOR_A_FIRST_RECORD = (
    "barnabas.api.authentication",
    "barnabas.api.broker_apis.join_group",
    "barnabas.api.broker_apis.share_fetch",
    "barnabas.api.commit_shortcut",
    "barnabas.telemetry.otlp_post",
    "barnabas.coordinators.group.machine",
    "barnabas.coordinators.share.machine",
    "barnabas.coordinators.transaction.machine",
    "barnabas.node.group_lag",
    "barnabas.node.kerberos",
    "barnabas.node.sasl",
    "barnabas.schema_validation",
    "barnabas.schemas",
    "barnabas.tiered",
    "confluent_kafka",
    "cryptography",
    "fastavro",
    "http.client",
    "joserfc",
    "jsonschema",
    "rich",
    "typer",
    "urllib.request",
)


def test_a_broker_loads_no_optional_part_before_its_first_record() -> None:
    program = (
        "import sys; from barnabas.testing import EmbeddedBroker, Message\n"
        "with EmbeddedBroker() as kafka:\n"
        "    kafka.create_topic('first')\n"
        "    kafka.produce('first', [Message(value=b'1')])\n"
        f"    print([each for each in {NOT_FOR_A_FIRST_RECORD!r} if each in sys.modules])\n"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_broker_compiles_no_method_of_a_dataclass_that_is_not_called() -> None:
    program = (
        "import sys, dataclasses; from barnabas.testing import EmbeddedBroker\n"
        "around = ('testing', 'devcluster')\n"
        "with EmbeddedBroker():\n"
        "    loaded = [each for name, each in sys.modules.items() if name.startswith('barnabas.') and name.split('.')[1] not in around]\n"
        "    print([each.__name__ for each in loaded if getattr(each, 'dataclass', None) is dataclasses.dataclass])\n"
    )
    # Those of barnabas.model.dataclass are compiled late.
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def loaded_by(*words: str) -> set[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BARNABAS_")}
    done = subprocess.run([sys.executable, "-c", _SHOW_MODULES, *words], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.partition("LOADED ")[2].split())


def test_version_loads_nothing_but_the_entry_point() -> None:
    loaded = loaded_by("--version")
    assert not loaded & {"typer", "dataclasses", "socket", "inspect", *HEAVY}
    assert {each for each in loaded if each.startswith("barnabas")} == {"barnabas", "barnabas.cli", "barnabas.cli.main"}


def test_version_is_printed() -> None:
    assert Cli()("--version").text == f"{__version__}\n"


def test_help_loads_no_command() -> None:
    loaded = loaded_by("--help")
    assert not loaded & {*HEAVY, "socket"}
    assert not loaded & {f"barnabas.cli.{module}" for module in COMMANDS.values()}


@pytest.mark.parametrize(
    "command",
    [
        "topics",
        "groups",
        "configs",
        "brokers",
        "transactions",
        "acls",
        "quotas",
        "users",
        "tokens",
        "client-metrics",
        "quorum",
        "reassign",
        "profile",
        "certs",
    ],
)
def test_help_of_a_command_loads_no_client(command: str) -> None:
    loaded = loaded_by(command, "--help")
    assert not loaded & set(HEAVY)
    assert not any(each.startswith(("barnabas.node", "barnabas.api", "barnabas.storage")) for each in loaded)


@pytest.mark.parametrize("words", [("topics", "list"), ("groups", "list"), ("brokers", "list"), ("transactions", "list")], ids=" ".join)
def test_a_list_loads_no_client_and_no_node(words: tuple[str, str], kafka: EmbeddedBroker) -> None:
    loaded = loaded_by(*words, "--bootstrap", kafka.bootstrap)
    assert not loaded & set(HEAVY)
    assert not any(each.startswith(("barnabas.node", "barnabas.api", "barnabas.storage")) for each in loaded)


def test_every_summary_is_the_first_sentence_of_the_help_of_its_command() -> None:
    commands = get_command(build_app(None)).commands  # type: ignore[attr-defined]
    helps = {name: " ".join((commands[name].help or "").partition("\n\n")[0].split()) for name in COMMANDS}
    first_sentences = {name: text.partition(". ")[0].rstrip(".") + "." for name, text in helps.items()}
    assert first_sentences == SUMMARIES
    assert list(SUMMARIES) == list(COMMANDS)


def test_help_lists_every_command_in_order() -> None:
    listed = Cli()("--help").text.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)


def test_an_unknown_command_gets_a_proposal() -> None:
    assert Cli()("topic", "list").complaint == "No such command 'topic'. Did you mean 'topics'?"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--partitions", "0"), "Invalid value for '--partitions': Input should be greater than or equal to 1."),
        (
            ("--partitions", "many"),
            "Invalid value for '--partitions': Input should be a valid integer, unable to parse string as an integer.",
        ),
    ],
)
def test_a_value_that_is_not_plain_is_still_refused_by_typer(words: tuple[str, str], sentence: str) -> None:
    assert Cli()("topics", "create", "t", *words).complaint == sentence
