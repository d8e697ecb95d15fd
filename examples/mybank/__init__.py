"""MyBank: its transactions are in a database; whoever has set a threshold is told of those above it."""
