"""MirrorMaker on Spark: topics, their settings and the positions of groups, from one cluster to another, exactly once."""
