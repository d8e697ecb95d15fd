"""A principal as a broker writes it into an envelope."""

from barnabas.wire.declare import data, field
from barnabas.wire.types import Bool, String


@data(versions="0", flexible="0+")
class DefaultPrincipalData:
    type: String = field()
    name: String = field()
    token_authenticated: Bool = field()
