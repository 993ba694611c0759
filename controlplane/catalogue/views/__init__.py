"""Pages of the catalogue: parse, call a service, render. One module a kind."""
