"""The planted-truth laboratory: methods on simulated voices of which everything is known.

>>> from motet.evals import lab
>>> found = lab.sweep("debate", items=50, skill=0.3, judge=(0.0, 1.0))
>>> [cell.gain.mean > 0.1 for cell in found.cells]
[False, True]
"""

from motet.evals.lab.axes import sweep
from motet.evals.lab.sweep import Cell, Sweep, survey
from motet.evals.lab.world import BASE

__all__ = ["BASE", "Cell", "Sweep", "survey", "sweep"]
