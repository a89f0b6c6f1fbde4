"""What would an expert have answered, and how is that handed to a trainer?"""

from visgym_maze.demonstrations.oracle import demonstrate
from visgym_maze.demonstrations.writing import FORMATS, write_demonstrations

__all__ = ["FORMATS", "demonstrate", "write_demonstrations"]
