"""GetTaxi: higher prices where taxis are few, the nearest driver for a request, all positions."""
