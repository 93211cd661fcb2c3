"""What voices of the same weights save by sharing keys and values: `python -m benchmarks.latent [--n 40]`."""
