"""Voices read each other over several rounds."""
