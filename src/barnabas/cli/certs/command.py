"""``barnabas certs``: certificates for development. The library for them takes long to load, so it
is imported by the command that is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from barnabas.cli.certs.reading import Shown

# As in `devcluster.certificates`: the authority outlives the certificates that it signs.
_CA_DAYS = 3650
_DAYS = 825

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the authority.")]
PasswordFile = Annotated[
    Path | None, typer.Option("--password-file", metavar="FILE", help="A file whose first line is the password of the PKCS12 store.")
]
Days = Annotated[int, typer.Option("--days", min=1, max=_CA_DAYS, help="How long the certificate is valid.")]


def register(app: typer.Typer) -> None:
    certs = typer.Typer(help="Make a private certificate authority, and certificates for nodes and clients.", no_args_is_help=True)
    certs.command("ca")(ca)
    certs.command("node")(node)
    certs.command("client")(client)
    certs.command("show")(show)
    app.add_typer(certs, name="certs")


def ca(
    directory: Directory,
    name: Annotated[str, typer.Option("--name", help="The common name of the authority.")] = "Barnabas development",
    days: Days = _CA_DAYS,
    as_json: AsJson = False,
) -> None:
    """Make a certificate authority: its key in DIR/ca-key.pem, its certificate in DIR/ca.pem.

    Clients and nodes trust ca.pem. The owner of ca-key.pem can act as any node and any user.
    """
    from barnabas.cli.certs.issuing import make_authority

    _print_written(make_authority(directory, name, days), as_json=as_json)


def node(
    directory: Directory,
    host: Annotated[list[str], typer.Option("--host", help="A name or address of the node; give it once for each.")],
    name: Annotated[
        str | None, typer.Option("--name", help="The common name, and the name of the file; the first host unless given.")
    ] = None,
    days: Days = _DAYS,
    as_json: AsJson = False,
) -> None:
    """Make a key and a certificate for a node, in DIR/NAME.pem, for ssl.keystore.location."""
    from barnabas.cli.certs.issuing import issue

    _print_written(issue(directory, name or host[0], hosts=host, days=days), as_json=as_json)


def client(
    directory: Directory,
    user: Annotated[str, typer.Option("--user", help="The common name; the principal is User:CN=NAME unless mapping rules shorten it.")],
    pkcs12: Annotated[bool, typer.Option("--pkcs12", help="Write a PKCS12 store for Java, DIR/USER.p12, instead of PEM.")] = False,
    password_file: PasswordFile = None,
    days: Days = _DAYS,
    as_json: AsJson = False,
) -> None:
    """Make a key and a certificate for a client, in DIR/USER.pem."""
    from barnabas.cli.certs.issuing import issue, read_password

    if pkcs12 != (password_file is not None):
        raise Refused("--pkcs12 and --password-file go together: a PKCS12 store has a password.")
    password = read_password(password_file) if password_file is not None else None
    _print_written(issue(directory, user, hosts=[], days=days, pkcs12_password=password), as_json=as_json)


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A PEM file or a PKCS12 store.")],
    password_file: PasswordFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the certificates in a file: subjects, host names, and when they expire. Keys are never
    shown."""
    from barnabas.cli.certs.issuing import read_password
    from barnabas.cli.certs.reading import read_certificates

    shown = read_certificates(file, read_password(password_file) if password_file is not None else None)
    if as_json:
        print_json([each._asdict() for each in shown])
    else:
        print_table(["Subject", "Issuer", "Hosts", "Valid until", "State"], [_row(each) for each in shown])


def _row(shown: Shown) -> list[str]:
    return [shown.subject, shown.issuer, ", ".join(shown.hosts) or "-", shown.valid_until, shown.state]


def _print_written(paths: list[Path], *, as_json: bool) -> None:
    if as_json:
        print_json({"files": [str(each) for each in paths]})
    else:
        for each in paths:
            typer.echo(f"Wrote {each}.")
