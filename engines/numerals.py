"""Patterns of numbers in logs; int() and float() accept every match."""

COUNT = r"[0-9]{1,15}(?![0-9])"
NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,20})?(?![0-9])"
