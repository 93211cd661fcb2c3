"""A training run to look at: as Markdown, and as one HTML file that needs nothing else."""

from motet.train.report.html import render
from motet.train.report.markdown import Dialogue, report, sparkline, spoken, summary

__all__ = ["Dialogue", "render", "report", "sparkline", "spoken", "summary"]
