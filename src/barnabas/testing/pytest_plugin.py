"""pytest's door to Barnabas: the fixture ``kafka``."""
