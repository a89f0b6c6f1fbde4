"""Train a vision-language model to solve mazes it sees, with SkyRL's GRPO loop.

Without a GPU this trains a tiny Qwen3-VL, which ships with the package, in this process.
`python examples/train_grpo.py --help` shows what can be changed.
"""

import sys

try:
    from visgym_maze_skyrl.train import main
except ImportError as error:
    sys.exit(f"error: {error.name} is missing; install the package: pip install 'visgym-maze[train]'")

if __name__ == "__main__":
    sys.exit(main())
