from __future__ import annotations

from barnabas.supervisor.page_reader import Page, parse_page


def test_a_page_is_parsed() -> None:
    assert parse_page(b"HTTP/1.1 503 Service Unavailable\r\nA: b\r\n\r\nbody\r\n\r\nmore") == Page(503, b"body\r\n\r\nmore")


def test_bytes_that_are_no_page_are_none() -> None:
    assert parse_page(b"") is None
    assert parse_page(b"HTTP/1.1 200 OK\r\nA: b\r\n") is None
    assert parse_page(b"garbage\r\n\r\n") is None
