"""A finalised feature level; zero removes the feature."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int16, String


@metadata_record(key=12, versions="0", flexible="0+")
class FeatureLevelRecord:
    name: String = field()
    feature_level: Int16 = field()
