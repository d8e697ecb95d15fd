"""The options by which every command names its cluster.

A command lists two of them, :data:`Bootstrap` and :data:`ConfigFile`, and passes their values to
:func:`~barnabas.cli.cluster.reach.reach`. :func:`with_cluster_options` adds the others, ``-X``,
``--profile`` and ``--secure``, to each command that has these two; their values wait in
:data:`given` until ``reach`` merges all of them. So a new option of this kind is added here and in
no command.

A parameter whose metavar is TOPIC or GROUP also gets the completion of names, unless it has one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from barnabas.cli.cluster.completion import complete_groups, complete_profiles, complete_topics

DEFAULT_BOOTSTRAP = "localhost:9092"
BOOTSTRAP_VARIABLE = "BARNABAS_BOOTSTRAP"
PROFILE_VARIABLE = "BARNABAS_PROFILE"
# Where `barnabas up --secure` leaves the properties for clients, if it is not given another
# directory for its data.
SECURE_CLIENT_FILE = Path(".barnabas/data/secure/client.properties")

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "--bootstrap-server",
        "-b",
        envvar=BOOTSTRAP_VARIABLE,
        metavar="HOST:PORT,...",
        help=f"Addresses of the cluster; {DEFAULT_BOOTSTRAP} if neither this nor a file nor a profile has any.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config-file", "--command-config", metavar="FILE", help="Properties for the client, with librdkafka's or Java's names."),
]
Secure = Annotated[
    bool, typer.Option("--secure", help=f"Use the client properties that `barnabas up --secure` has left in {SECURE_CLIENT_FILE}.")
]
Properties = Annotated[
    list[str], typer.Option("-X", "--property", metavar="NAME=VALUE", help="A property for the client; may be given several times.")
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        envvar=PROFILE_VARIABLE,
        metavar="NAME",
        autocompletion=complete_profiles,
        help="A cluster saved with `barnabas profile add`.",
    ),
]

# Parameters of the wrapper, so named that no command has one of the same name.
_CONTEXT, _PROPERTIES, _PROFILE, _SECURE = "cluster_context", "cluster_properties", "cluster_profile", "cluster_secure"
_COMPLETIONS = {"TOPIC": complete_topics, "GROUP": complete_groups}


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """The options that a command does not pass to ``reach`` itself."""

    properties: tuple[str, ...] = ()
    profile: str | None = None
    # Whether a value comes from the environment and not from the command line.
    bootstrap_is_ambient: bool = False
    profile_is_ambient: bool = False
    secure: bool = False


_NONE = GivenOptions()
given: ContextVar[GivenOptions] = ContextVar("given", default=_NONE)


def with_cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with ``-X``, ``--profile`` and ``--secure``. Commands without a cluster are
    returned as they are."""
    signature = inspect.signature(command)
    if not {"bootstrap", "config_file"} <= signature.parameters.keys():
        return command
    hints = get_type_hints(command, include_extras=True)
    if hints["bootstrap"] != Bootstrap:
        return command
    _complete_names(hints)

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        context: typer.Context = arguments.pop(_CONTEXT)
        token = given.set(options_in(context))
        del arguments[_PROPERTIES], arguments[_PROFILE], arguments[_SECURE]
        try:
            return command(**arguments)
        finally:
            given.reset(token)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [each.replace(annotation=hints[name]) for name, each in signature.parameters.items()]
    added = [
        inspect.Parameter(_PROPERTIES, keyword, default=[], annotation=Properties),
        inspect.Parameter(_PROFILE, keyword, default=None, annotation=Profile),
        inspect.Parameter(_SECURE, keyword, default=False, annotation=Secure),
        inspect.Parameter(_CONTEXT, keyword, annotation=typer.Context),
    ]
    run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return run


def options_in(context: typer.Context) -> GivenOptions:
    return GivenOptions(
        tuple(context.params.get(_PROPERTIES) or ()),
        context.params.get(_PROFILE),
        bootstrap_is_ambient=_is_ambient(context, "bootstrap"),
        profile_is_ambient=_is_ambient(context, _PROFILE),
        secure=bool(context.params.get(_SECURE)),
    )


def _is_ambient(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "ENVIRONMENT"


def _complete_names(hints: dict[str, Any]) -> None:
    for hint in hints.values():
        for info in getattr(hint, "__metadata__", ()):
            metavar = (getattr(info, "metavar", None) or "").strip("[].")
            if metavar in _COMPLETIONS and info.autocompletion is None:
                info.autocompletion = _COMPLETIONS[metavar]
