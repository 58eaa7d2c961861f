"""The files of benchmark tools, a module a tool or a format of it."""
