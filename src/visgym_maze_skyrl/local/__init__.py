"""The embedded backend: a tiny vision-language model, sampled and trained in this process."""
