"""The command line: one file a group of commands; each composes rooms as app.py does, and nothing imports it."""
