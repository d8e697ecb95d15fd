"""GetTaxi: prices that rise where taxis are few, the nearest driver for each request, and every position kept."""
