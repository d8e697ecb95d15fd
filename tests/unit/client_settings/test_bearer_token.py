from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import pytest

from barnabas.client_settings.bearer_token import TOKEN, TOKEN_FILE, for_librdkafka_client, has_token, read_token
from barnabas.client_settings.errors import SettingsRefused


def jwt(claims: object) -> str:
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "x"}, claims, "s"))


def test_the_end_of_a_token_is_read_from_it() -> None:
    assert read_token({TOKEN: jwt({"exp": 2_000_000_000})}).expires_seconds == 2_000_000_000


@pytest.mark.parametrize("token", ["opaque", "a.b.c", jwt([]), jwt({"exp": "soon"})])
def test_a_token_without_an_end_is_read_again_within_the_hour(token: str) -> None:
    assert read_token({TOKEN: token}).expires_seconds > 0


def test_a_file_is_read_for_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("zeroth")
    settings = for_librdkafka_client({"client.id": "me", TOKEN_FILE: str(file)})
    assert settings.keys() == {"client.id", "oauth_cb"}
    # Spark's tasks get the function pickled.
    callback = pickle.loads(pickle.dumps(settings["oauth_cb"]))
    for text in ("first", "second"):
        file.write_text(f"{text}\n")
        assert callback("")[0] == text


def test_settings_without_a_token_stay_as_they_are() -> None:
    assert for_librdkafka_client({"client.id": "me"}) == {"client.id": "me"}
    assert not has_token({"sasl.mechanism": "OAUTHBEARER"})


def test_a_missing_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsRefused, match=r"The token cannot be read from .*: No such file"):
        read_token({TOKEN_FILE: str(tmp_path / "none")})
    with pytest.raises(SettingsRefused, match=r"sasl\.oauthbearer\.token has no token\."):
        read_token({TOKEN: " "})
    with pytest.raises(SettingsRefused, match=r"The token of sasl\.oauthbearer\.token expired \d+ s ago\."):
        for_librdkafka_client({TOKEN: jwt({"exp": 1})})


def test_a_token_is_not_in_its_repr() -> None:
    assert "opaque" not in repr(read_token({TOKEN: "opaque"}))
