"""The answer of a comparison: the sentence, its cards, what it is made of, and whether it may be said."""
