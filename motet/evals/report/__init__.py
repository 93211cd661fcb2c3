"""The report of a comparison: one HTML file that needs nothing else."""

from motet.evals.report.html import render

__all__ = ["render"]
