"""Many answers become one: by vote, by judge, or by synthesis."""
