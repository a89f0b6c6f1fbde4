"""A policy of six numbers that learns to walk mazes."""
