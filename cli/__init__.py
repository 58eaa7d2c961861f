"""The command line: one file per group of commands; each composes packages as app.py does, and nothing imports it."""
