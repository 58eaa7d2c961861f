"""Patterns of the numbers in logs, such that int() and float() read whatever they match."""

COUNT = r"[0-9]{1,15}(?![0-9])"
NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,20})?(?![0-9])"
