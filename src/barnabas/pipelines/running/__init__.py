"""Running pipelines: checks before the start, the queries, what they report, and how they end."""
