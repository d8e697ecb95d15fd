"""URLs and headers in settings."""

from __future__ import annotations

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.http_endpoint import header_pairs, is_http_url
from barnabas.config.keys import ConfigError


@pytest.mark.parametrize("text", ["http://c:4318/v1/metrics", "https://collector.example", "http://[::1]:4318/", "http://c/?a=b"])
def test_a_url_of_http_is_one(text: str) -> None:
    assert is_http_url(text)


@pytest.mark.parametrize(
    "text", ["c:4318", "ftp://c", "http://", "http:///path", "http://c:99999", "http://c:0", "http://c/\r\nX: y", "http://ä", "http://a b"]
)
def test_other_text_is_no_url_of_http(text: str) -> None:
    assert not is_http_url(text)


def test_headers_are_pairs_with_commas_between_them() -> None:
    assert header_pairs("Authorization=Bearer a=b, X-Scope-OrgID = 1") == {"Authorization": "Bearer a=b", "X-Scope-OrgID": "1"}
    assert header_pairs("") == header_pairs(None) == {}


@pytest.mark.parametrize("text", ["a", "=b", "a b=c", "a=", "a=b\r\nc: d", "a=b,,c=d", "a:=b", "a=ä"])
def test_other_text_is_no_list_of_headers(text: str) -> None:
    assert header_pairs(text) is None


def test_settings_of_the_collector_are_checked_when_they_are_read() -> None:
    with pytest.raises(ConfigError):
        BROKER_KEYS["barnabas.client.metrics.otlp.endpoint"].parse("collector:4318")
    with pytest.raises(ConfigError):
        BROKER_KEYS["barnabas.client.metrics.otlp.headers"].parse("token")
    assert repr(BROKER_KEYS["barnabas.client.metrics.otlp.headers"].parse("Authorization=secret")) == "[hidden]"
