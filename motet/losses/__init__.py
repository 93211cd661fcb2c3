"""Losses as pure functions of tensors. They know no agents, no rows and no engines.

A loss gives one value a token (`policy`, `supervised`, `regularise`) or a row (`preference`);
`token_weights` says how much each weighs. Names end in their axes: B rows, T tokens, P pairs, V vocabulary.
"""

from motet.losses.offpolicy import importance, mismatch
from motet.losses.policy import aepo, cispo, gspo, gspo_token, ppo, ratio, reinforce
from motet.losses.preference import dpo, kto, log_ratio
from motet.losses.reduce import Reduction, token_weights
from motet.losses.regularise import KlForm, entropy, kl, smoothing
from motet.losses.supervised import partial_mask, rwr, rwr_weights, sft, span_weights, value

__all__ = [
    "KlForm",
    "Reduction",
    "aepo",
    "cispo",
    "dpo",
    "entropy",
    "gspo",
    "gspo_token",
    "importance",
    "kl",
    "kto",
    "log_ratio",
    "mismatch",
    "partial_mask",
    "ppo",
    "ratio",
    "reinforce",
    "rwr",
    "rwr_weights",
    "sft",
    "smoothing",
    "span_weights",
    "token_weights",
    "value",
]
