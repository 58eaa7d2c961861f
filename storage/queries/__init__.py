"""SQL queries over the store, one .sql file each, and the functions that run them."""
