"""Messages that travel inside the opaque bytes of other messages or of records."""
