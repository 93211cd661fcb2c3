"""Environments of other packages as `Env`. One file a package; each is imported when a name asks for it."""
