"""Models made of other models: each wraps one (or several) and is one."""

from motet.models.wrappers.budget import Budgeted
from motet.models.wrappers.cache import Cached
from motet.models.wrappers.ratelimit import Gate, RateLimit
from motet.models.wrappers.retry import Retry
from motet.models.wrappers.route import Fallback, Route
from motet.models.wrappers.shelf import Shelf

__all__ = ["Budgeted", "Cached", "Fallback", "Gate", "RateLimit", "Retry", "Route", "Shelf"]
