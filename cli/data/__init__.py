"""Commands for the data folder: import, check, export, backup, restore, the lake."""
