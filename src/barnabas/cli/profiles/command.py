"""``barnabas profile``: save the addresses and properties of clusters under names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.cluster.choice import ADDRESSES
from barnabas.cli.cluster.completion import complete_profiles
from barnabas.cli.cluster.options import Properties
from barnabas.cli.cluster.reach import check_addresses, read_config_file
from barnabas.cli.errors import Refused
from barnabas.cli.profiles.profile_file import ProfileFile, profile_path
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.cli.terminal.overrides import parse_pairs
from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.java_names import for_librdkafka
from barnabas.client_settings.secrets import without_secrets

Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_profiles)]


def register(app: typer.Typer) -> None:
    profile = typer.Typer(help="Save clusters under names, and choose the one that commands use.", no_args_is_help=True)
    profile.command("add")(add)
    profile.command("use")(use)
    profile.command("list")(list_profiles)
    profile.command("show")(show)
    profile.command("remove")(remove)
    app.add_typer(profile, name="profile")


def add(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    bootstrap: Annotated[
        str | None,
        typer.Option("--bootstrap", "--bootstrap-server", "-b", metavar="HOST:PORT,...", help="Addresses of the cluster."),
    ] = None,
    config_file: Annotated[
        Path | None,
        typer.Option("--config-file", "--command-config", metavar="FILE", help="Properties to copy, with librdkafka's or Java's names."),
    ] = None,
    properties: Properties = [],  # noqa: B006
    replace: Annotated[bool, typer.Option("--replace", help="Replace a profile of this name.")] = False,
    use_it: Annotated[bool, typer.Option("--use", help="Use it from now on.")] = False,
) -> None:
    """Save a cluster under a name. The file can be read by its owner only, since it may hold
    passwords."""
    file = ProfileFile.read()
    if name in file.profiles and not replace:
        raise Refused(f"There is a profile {name} already; --replace replaces it.")
    settings = read_config_file(config_file) if config_file is not None else {}
    settings |= dict(parse_pairs("-X", properties))
    if bootstrap is not None:
        settings[ADDRESSES] = bootstrap
    if not settings.get(ADDRESSES, "").strip():
        raise Refused("A profile needs the addresses of its cluster: give --bootstrap, or bootstrap.servers in the file.")
    check_addresses(settings[ADDRESSES])
    try:
        for_librdkafka(settings)
    except SettingsRefused as refused:
        raise Refused(str(refused)) from refused
    file = file.with_profile(name, settings)
    (file.using(name) if use_it else file).write()
    typer.echo(f"Saved profile {name}." if use_it else f"Saved profile {name}; `barnabas profile use {name}` makes commands use it.")


def use(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", autocompletion=complete_profiles)] = None,
    none: Annotated[bool, typer.Option("--none", help="Use no profile.")] = False,
) -> None:
    """Choose the profile of all commands that name no cluster themselves."""
    if (name is None) != none:
        raise Refused("Give the name of a profile, or --none.")
    file = ProfileFile.read().using(name)
    file.write()
    typer.echo("Commands use no profile now." if name is None else f"Commands use {name} now: {file.get(name).get(ADDRESSES)}.")


def list_profiles(as_json: AsJson = False) -> None:
    """List the profiles, and mark the one in use."""
    file = ProfileFile.read()
    rows = [{"name": name, "bootstrap": properties.get(ADDRESSES), "used": name == file.used} for name, properties in file.profiles.items()]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Profile", "Used", "Bootstrap"),
        [(row["name"], "*" if row["used"] else "", row["bootstrap"]) for row in rows],
        empty="There are no profiles; `barnabas profile add` saves one.",
    )


def show(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=complete_profiles, help="Default: the profile in use.")
    ] = None,
    secrets: Annotated[bool, typer.Option("--secrets", help="Also show passwords.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the properties of a profile."""
    file = ProfileFile.read()
    name = name or file.used
    if name is None:
        raise Refused("No profile is in use: give the name of one.")
    properties = dict(file.get(name)) if secrets else without_secrets(file.get(name))
    if as_json:
        print_json({"name": name, "used": name == file.used, "properties": properties, "file": str(profile_path())})
    else:
        print_table(("Property", "Value"), list(properties.items()))


def remove(name: Name) -> None:
    """Remove a profile."""
    file = ProfileFile.read()
    file.without(name).write()
    typer.echo(f"Removed profile {name}{', and commands use no profile now' if file.used == name else ''}.")
