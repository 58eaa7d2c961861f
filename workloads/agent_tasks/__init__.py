"""A load that runs an agent on a task in fresh copies of a folder, and lets a command decide whether it is solved."""
