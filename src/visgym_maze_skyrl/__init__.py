"""SkyRL trains a vision-language model on the mazes of :mod:`visgym_maze`."""
