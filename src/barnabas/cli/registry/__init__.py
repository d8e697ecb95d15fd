"""``barnabas registry``: one instance of the schema registry."""
