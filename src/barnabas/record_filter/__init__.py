"""A condition on the fields of a record, as text: never code.

:mod:`~.grammar` turns the text into a predicate, and :mod:`~.subject` says which fields a record
has. The grammar::

    condition  = all-of { "or" all-of }
    all-of     = test { "and" test }
    test       = "not" test | "(" condition ")" | operand [ operator operand ]
    operand    = path | "text" | number | true | false | null
    operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "=~"
    path       = ( "." [ name ] | root ) { "." name | "[" number "]" | "[" "text" "]" }
    root       = value | key | headers | topic | partition | offset | timestamp
    name       = letters, digits, "_" and "-", or "text"

A path that begins with a dot is in the decoded value. ``key`` and ``value`` alone are text, and
decoded with a name behind them. A path alone is true when the field is there and is neither null
nor false. A missing field equals null. Values of different types are unequal, and neither is
greater. ``=~`` searches for a regular expression of RE2 in a text.

Invariants: the length and the depth of a condition have limits, and each record takes time that is
linear in its size.
"""
