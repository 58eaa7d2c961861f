"""Process of the load generator: its job, the execution of a plan, and its records."""
