"""The load generator's process: its job, its way through a plan, and what it leaves behind."""
