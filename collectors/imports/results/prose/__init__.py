"""What people publish and paste: tables, names and numbers as they write them."""
