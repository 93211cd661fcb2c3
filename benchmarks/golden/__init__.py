"""Credit and losses beside TRL's and verl's own: `python -m benchmarks.golden [--write]`.

TRL and verl compute in an environment of their own, which sees the packages of this one too (torch,
transformers, datasets). The table shows how far Motet is from them; `--write` keeps their numbers for the
tests, so that these check against them without installing verl. Neither has GiGPO.

Where the same name stands for different formulas, these are compared: REINFORCE++ of replies of one token
(verl standardises over tokens, so that long replies count more; Motet over replies), and TRL's KL without the
importance weight that it puts on it by default.
"""
