from __future__ import annotations

import pytest

from barnabas.client_settings.client_file import FILE_BYTES_MAX, read_client_file
from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.secrets import HIDDEN, is_secret, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "sasl.jaas.config",
        "kafka.sasl.jaas.config",
        "ssl.keystore.key",
        "ssl.key.pem",
        "ssl.key.password",
        "ssl.truststore.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.token",
        "sasl.oauthbearer.config",
    ],
)
def test_secrets_are_known_by_their_names(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["sasl.username", "ssl.key.location", "ssl.keystore.location", "sasl.oauthbearer.token.file", "sasl.oauthbearer.token.endpoint.url"],
)
def test_names_and_places_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


def test_secrets_are_hidden() -> None:
    assert without_secrets({"sasl.username": "a", "sasl.password": "b"}) == {"sasl.username": "a", "sasl.password": HIDDEN}


def test_a_file_that_is_no_file_of_settings_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    with pytest.raises(SettingsRefused, match="No such file"):
        read_client_file(folder / "none")
    large = folder / "large"
    large.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(SettingsRefused, match="so it is not a file of client settings"):
        read_client_file(large)
