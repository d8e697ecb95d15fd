"""Values of client settings that stand elsewhere: ``${file:/path:key}``, as Kafka's config
providers fetch them."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client_settings.errors import SettingsRefused
from barnabas.config.keys import ConfigError

PROVIDERS = "config.providers"


def with_fetched_values(given: Mapping[str, str]) -> dict[str, str]:
    """The settings with the values that their references stand for, and without the settings of
    the providers themselves. Raises ``SettingsRefused``."""
    if PROVIDERS not in given:
        return dict(given)
    from barnabas.config.providers import resolve
    from barnabas.env.config_sources import SystemSources

    try:
        resolved = resolve(given, SystemSources())
    except ConfigError as error:
        # The cause is left out: its text may have the secret.
        raise SettingsRefused(str(error)) from None
    return {name: value for name, value in resolved.items() if name != PROVIDERS and not name.startswith(f"{PROVIDERS}.")}
