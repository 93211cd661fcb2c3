"""Small networks in a particle world beside BenchMARL's: `python -m benchmarks.mpe [--seeds 5]`.

Both play `simple_spread` of mpe2 (three agents, 25 steps) with the settings of `recipes/mpe_mappo.py`,
wherever BenchMARL lets one set them: sizes of the networks, learning rate, clipping, discount, λ, entropy
bonus, frames of an iteration, epochs, minibatches. Both are then marked on the same held-out starts with the
most probable action. Each copy of the world has a seed of its own; BenchMARL would give all of them the same,
so that the episodes of an iteration begin alike. What stays different: BenchMARL's critic values the world
beyond the last step (an episode that is cut short has not ended) and is not told the time; its advantages
are not standardised, its values not scaled, its first weights torch's, its learning rate constant, its
minibatches dealt anew in every epoch, and it clips the critic's gradient too.

BenchMARL runs in an environment of its own, which sees this one's torch and mpe2. A run that is finished is
kept under `benchmarks/results/mpe`, so that a call with more seeds goes on where the last one stopped.
"""
