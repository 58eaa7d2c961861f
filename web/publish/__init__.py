"""Tables for publication, and the Markdown that they and reports share."""
