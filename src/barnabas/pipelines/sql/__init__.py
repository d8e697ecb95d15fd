"""SQL over topics: what a query names is found among the topics, which become tables for the time of the query."""
