"""The guided demo, from its button through Live to the answer on Compare."""
