"""Limits on schemas from outside. A schema is code of a stranger: it may be huge, or deep enough to
end the interpreter's stack.
"""

from __future__ import annotations

# The registry's largest schema, in characters. Its record must also fit into the topic, which takes
# a megabyte by default; that is the only limit of Confluent's registry.
SCHEMA_CHARACTERS_MAX = 1_000_000
# How deep types may stand in each other. A type takes up to three frames of the stack while it is
# read or compared, and Python allows a thousand.
DEPTH_MAX = 100
# Named types, fields and branches together. Comparing two schemas takes time in proportion to the
# product of their types at worst.
TYPES_MAX = 20_000
# The size of Avro's fixed: Java reads it into an int.
FIXED_BYTES_MAX = 2**31 - 1
# A .proto file, whose grammar takes about 20 microseconds for each character.
PROTO_CHARACTERS_MAX = 150_000
# Steps of a comparison before it gives up: about a second. A pair of types is a step at least.
COMPARISONS_MAX = 50_000
# Changes of one pair of types that are kept. Definitions that refer to each other would otherwise
# repeat the changes of each along every path between them.
CHANGES_KEPT_MAX = 100

# -- data of a schema ------------------------------------------------------------------------------

# How deep data may be nested: as deep as Protobuf's own parser goes. Recursive schemas make data
# of any depth, and fastavro ends the process when it runs out of stack.
DATA_DEPTH_MAX = 100
# The largest data that is decoded: the largest record that any broker takes is not larger.
DATA_BYTES_MAX = 100 * 1024 * 1024
# Items of Avro arrays that take no bytes, such as nulls, in one payload: ten bytes could claim
# billions of them.
EMPTY_ITEMS_MAX = 100_000
# Bytes of one decimal number: 2,400 digits. The time to convert one grows with its square.
DECIMAL_BYTES_MAX = 1000
# Evaluations of parts of a JSON Schema for one document: about a second.
JSON_EVALUATIONS_MAX = 1_000_000
# Indexes that lead to a nested Protobuf message: one for each level of nesting.
MESSAGE_INDEXES_MAX = DEPTH_MAX
