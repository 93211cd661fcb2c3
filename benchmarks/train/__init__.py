"""Rollout and update of GRPO beside TRL's, on the same weights: `python -m benchmarks.train [--rounds N]`.

SmolLM2-135M (converted from the embedded model) in 32-bit floats on the CPU, LoRA of rank 8 on all linear
layers but the last. A step draws 8 replies of 24 tokens to each of 2 prompts of about 60 tokens, and takes
one AdamW step of GRPO on all of them. No reply ends early, so both draw and train equally many tokens.

Each contestant lives in a process of its own, with as many threads as torch takes by itself, and computes
only while the others wait; a round goes through all of them, so that a slow minute meets all alike.
Speeds are sampled tokens a second, of rollout (from ids to ids) and of update (forward, backward, optimiser).
Ratios compare two contestants within one round. Memory is the peak of the process.

TRL is set as fast as it goes here: all replies in one batch, no KL, activations kept. `trl-recompute` is TRL
with activations computed again on the way back, its default: slower, with less memory. TRL trains one policy,
so `trl-two` is two trainers with weights of their own in one process; `motet-two` is two LoRA on one base.
"""
