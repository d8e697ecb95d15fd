"""MovieFlix: a film goes on where it was left, a profile grows while somebody watches, and the next show is recommended at once."""
