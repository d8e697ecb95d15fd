"""The principal of a forwarded request, which a broker writes into an envelope."""

from barnabas.wire.declare import data, field
from barnabas.wire.types import Bool, String


@data(versions="0", flexible="0+")
class DefaultPrincipalData:
    type: String = field()
    name: String = field()
    token_authenticated: Bool = field()
