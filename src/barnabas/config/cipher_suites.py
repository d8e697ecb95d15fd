"""Java's names of cipher suites, as OpenSSL calls them."""

from __future__ import annotations

import re

_SUITE = re.compile(r"TLS_(?:(?P<exchange>[A-Z_]+)_WITH_)?(?P<cipher>[A-Z0-9_]+)")
_OF_TLS_1_3 = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


def is_of_tls_1_3(java_name: str) -> bool:
    return java_name in _OF_TLS_1_3


def openssl_name(java_name: str) -> str | None:
    """``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` is ``ECDHE-RSA-AES128-GCM-SHA256``. None for text
    that is not a name of a suite. Names of TLS 1.3 are the same on both sides."""
    if java_name in _OF_TLS_1_3:
        return java_name
    found = _SUITE.fullmatch(java_name)
    if found is None or found["exchange"] is None:
        return None
    cipher = found["cipher"].replace("AES_", "AES").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("_CBC", "")
    exchange = "" if found["exchange"] == "RSA" else found["exchange"] + "_"
    return (exchange + cipher).replace("_", "-")
