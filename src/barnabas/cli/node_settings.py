"""The settings of a node, from the three places that a user can write them in: a file, the
environment and ``--override``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from barnabas.cli.errors import Refused
from barnabas.config.environment import EnvironmentSettings, variables_at_fault
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.config.settings import BrokerSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.node.process import parse_settings


def settings_in_file(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return read_properties(path.read_text("latin-1"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except ConfigError as error:
        raise Refused(f"{path}: {error}") from error


def parse_node_settings(in_file: Mapping[str, str], from_environment: EnvironmentSettings, overrides: Mapping[str, str]) -> BrokerSettings:
    """Later arguments take precedence.

    ``CannotStart`` also names the environment variables at fault, since the user does not find them
    in a file.
    """
    try:
        return parse_settings({**in_file, **from_environment.properties, **overrides})
    except CannotStart as error:
        in_force = {setting: name for setting, name in from_environment.variables.items() if setting not in overrides}
        at_fault = variables_at_fault(str(error), in_force)
        if not at_fault:
            raise
        raise CannotStart(f"{', '.join(at_fault)} in the environment: {error}") from error
