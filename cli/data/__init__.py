"""Commands about the data folder: import, check, export, backup, restore, the lake."""
