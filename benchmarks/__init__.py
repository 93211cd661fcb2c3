"""Measurements of Motet beside other frameworks; run by hand, never by the test suite."""
