"""``barnabas users``: the users that log in with SCRAM."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.cli.terminal.passwords import PasswordFile, read_password
from barnabas.cli.users.requests import Credential, list_credentials, remove, set_password
from barnabas.security.sasl.scram_credentials import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism

_BY_TITLE = {each.title: each for each in ScramMechanism}


class Mechanism(StrEnum):
    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"


User = Annotated[str, typer.Argument(metavar="USER")]
Mechanisms = Annotated[
    list[Mechanism], typer.Option("--mechanism", case_sensitive=False, help="A mechanism; may be given several times. Default: both.")
]
Iterations = Annotated[
    int,
    typer.Option("--iterations", min=ITERATIONS_MIN, max=ITERATIONS_MAX, help="How slow a guess at the password is."),
]


def register(app: typer.Typer) -> None:
    users = typer.Typer(help="Users that log in with SCRAM: list, add and remove them.", no_args_is_help=True)
    users.command("list")(list_all)
    users.command("add")(add)
    users.command("set-password")(change_password)
    users.command("remove")(remove_user)
    app.add_typer(users, name="users")


def list_all(as_json: AsJson = False, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """List the users and their mechanisms."""
    found = list_credentials(Brokers(reach(bootstrap, config_file)))
    if as_json:
        print_json([each._asdict() for each in found])
        return
    print_table(("User", "Mechanism", "Iterations"), found, empty="There are no users.")


def add(
    user: User,
    mechanism: Mechanisms = [],  # noqa: B006
    iterations: Iterations = ITERATIONS_MIN,
    password_file: PasswordFile = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Add a user with a password."""
    brokers = Brokers(reach(bootstrap, config_file))
    if list_credentials(brokers, user):
        raise Refused(f"The user {user} exists already; `barnabas users set-password {user}` changes its password.")
    set_password(brokers, user, read_password(password_file, user), _chosen(mechanism), iterations)
    typer.echo(f"Added the user {user}.")


def change_password(
    user: User,
    mechanism: Mechanisms = [],  # noqa: B006
    iterations: Iterations = ITERATIONS_MIN,
    password_file: PasswordFile = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Set a new password. By default it applies to every mechanism that the user has."""
    brokers = Brokers(reach(bootstrap, config_file))
    existing = _of_existing(brokers, user)
    chosen = _chosen(mechanism) if mechanism else existing
    set_password(brokers, user, read_password(password_file, user), chosen, iterations)
    typer.echo(f"Set the password of {user}.")


def remove_user(
    user: User,
    mechanism: Annotated[
        list[Mechanism], typer.Option("--mechanism", case_sensitive=False, help="Remove this mechanism of the user only.")
    ] = [],  # noqa: B006
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Remove a user. Its open connections go on until they end."""
    brokers = Brokers(reach(bootstrap, config_file))
    existing = _of_existing(brokers, user)
    remove(brokers, user, _chosen(mechanism) if mechanism else existing)
    typer.echo(f"Removed {', '.join(each.value for each in mechanism)} of the user {user}." if mechanism else f"Removed the user {user}.")


def _of_existing(brokers: Brokers, user: str) -> list[ScramMechanism]:
    found: list[Credential] = list_credentials(brokers, user)
    if not found:
        raise Refused(f"There is no user {user}.")
    return [_BY_TITLE[each.mechanism] for each in found if each.mechanism in _BY_TITLE]


def _chosen(mechanisms: list[Mechanism]) -> list[ScramMechanism]:
    return [_BY_TITLE[each.value] for each in dict.fromkeys(mechanisms)] or list(ScramMechanism)
