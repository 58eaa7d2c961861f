"""One run under supervision, launched here, launched elsewhere or attached, from its start to its teardown."""
