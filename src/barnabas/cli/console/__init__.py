"""``barnabas console``: the web console."""
