"""Voices with the same weights think without words and hand over what they hold in memory."""

from motet.methods.info import Method
from motet.methods.latent.latent_hierarchy import latent_hierarchy
from motet.methods.latent.latent_mas import latent_mas

PAPER = "Zou et al. 2025, arXiv:2511.20639"
METHODS: dict[str, Method] = {
    "latent_mas": Method(latent_mas, "latent", PAPER, "4", 29),
    "latent_hierarchy": Method(latent_hierarchy, "latent", PAPER, "n + 1", 29),
}

__all__ = ["METHODS", "latent_hierarchy", "latent_mas"]
