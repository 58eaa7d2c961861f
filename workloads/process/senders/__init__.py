"""Further processes of a load generator, for where one is not enough: each sends requests that it is given."""
