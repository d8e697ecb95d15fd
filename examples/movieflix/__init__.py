"""MovieFlix: resuming a film, profiles that grow while people watch, instant recommendations."""
