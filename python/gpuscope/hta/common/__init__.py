"""What all analyses share: traces as data frames, and the table of their names."""
