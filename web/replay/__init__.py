"""Replay of finished runs side by side."""
