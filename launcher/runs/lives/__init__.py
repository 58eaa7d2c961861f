"""The life of one run, launched here, launched elsewhere or attached, from its start to its teardown."""
