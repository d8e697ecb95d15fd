"""The subject of a certificate, written as Java writes it (RFC 2253).

Users put these names into ACLs and into ``super.users``, so a difference in one character lets in
or keeps out. Attributes that RFC 2253 does not name are an object identifier and the value's DER in
hex, as Java prints them.
"""

from __future__ import annotations

from cryptography.x509 import Certificate, Name, NameAttribute
from cryptography.x509.oid import NameOID

_KEYWORDS = {
    NameOID.COMMON_NAME: "CN",
    NameOID.COUNTRY_NAME: "C",
    NameOID.LOCALITY_NAME: "L",
    NameOID.STATE_OR_PROVINCE_NAME: "ST",
    NameOID.STREET_ADDRESS: "STREET",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
    NameOID.DOMAIN_COMPONENT: "DC",
    NameOID.USER_ID: "UID",
}
_ESCAPED = frozenset(',=+<>#;"\\')


def subject_name(certificate: Certificate) -> str:
    """The most special part first: ``CN=client,O=Example``."""
    return name_text(certificate.subject)


def name_text(name: Name) -> str:
    return ",".join("+".join(_attribute(each) for each in part) for part in reversed(name.rdns))


def _attribute(attribute: NameAttribute[str | bytes]) -> str:
    keyword = _KEYWORDS.get(attribute.oid)
    if keyword is None:
        return f"{attribute.oid.dotted_string}=#{_der(attribute).hex()}"
    return f"{keyword}={_escaped(str(attribute.value))}"


def _escaped(value: str) -> str:
    text = "".join(f"\\{each}" if each in _ESCAPED else each for each in value)
    if value.startswith(" "):
        text = "\\" + text
    if value.endswith(" ") and len(value) > 1:
        text = text[:-1] + "\\ "
    return text


def _der(attribute: NameAttribute[str | bytes]) -> bytes:
    """The value with its tag and length. Values of names are short strings."""
    data = attribute.value if isinstance(attribute.value, bytes) else attribute.value.encode("utf-8")
    length = bytes([len(data)]) if len(data) < 0x80 else bytes([0x82, *len(data).to_bytes(2, "big")])
    return bytes([attribute._type.value]) + length + data  # noqa: SLF001 - the type has no public name
