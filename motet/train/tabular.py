"""A policy as a table: one row of logits for every context, 0 until trained. Small enough to be checked by hand.

It is an engine like any other, in 64-bit numbers, for tests in which the right answer is known.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from motet.errors import BadInput
from motet.losses import entropy as entropy_of
from motet.models.torch_checkpoint import WEIGHT, About
from motet.models.torch_sample import generate_from
from motet.train.batch import Batch
from motet.train.engine import REFERENCE
from motet.train.gradient import GradientEngine
from motet.types import Message, Reply, Sampling, StopReason, Tokens, Usage
