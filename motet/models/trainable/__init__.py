"""Weights in this process that can be trained, computed by torch: what `torch:` names mean."""
