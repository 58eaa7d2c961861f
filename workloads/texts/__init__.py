"""Texts of prompts: Pitwall's own, the user's files, and fitting them to token lengths."""
