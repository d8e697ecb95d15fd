"""The simulated world: everything a core or a shell reaches through a port, driven by one seed."""
