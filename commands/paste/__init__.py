"""From what people paste to the words of one server's command; nothing of a paste is ever evaluated."""
