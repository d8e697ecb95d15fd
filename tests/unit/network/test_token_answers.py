from __future__ import annotations

import base64

import pytest

from barnabas.network.oauth.token_source import client_credentials, token_in_answer


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b'{"access_token": "t", "expires_in": 60}', ("t", 60_000)),
        (b'{"access_token": "t"}', ("t", None)),
        (b'{"id_token": "t", "expires_in": "soon"}', ("t", None)),
        (b'{"access_token": ""}', None),
        (b'{"access_token": 7}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"", None),
        (b"[" * 100_000, None),
    ],
)
def test_a_token_is_found_in_the_answer_of_its_endpoint(answer: bytes, found: tuple[str, int | None] | None) -> None:
    assert token_in_answer(answer) == found


def test_client_credentials_are_sent_as_a_form_with_a_header() -> None:
    body, headers = client_credentials("node", "s:e", "read write")
    assert body == b"grant_type=client_credentials&scope=read+write"
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"node:s:e").decode()
    assert b"scope" not in client_credentials("node", "s", None)[0]
