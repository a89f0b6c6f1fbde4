"""Mazes: layouts, dynamics, generation, solving, splits. Pure Python and numpy."""
