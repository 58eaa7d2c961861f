"""What prompts are made of: texts of our own, the user's files, and cutting them to tokens."""
