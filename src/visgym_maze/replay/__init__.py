"""How are played episodes looked at? As a page in a browser, as a GIF, as a sheet of pictures."""

from visgym_maze.replay.grouping import advantages, group_of
from visgym_maze.replay.page import replay_page
from visgym_maze.replay.pictures import contact_sheet, episode_gif
from visgym_maze.replay.reading import TrajectoryFileError, read_trajectories, write_trajectories

__all__ = [
    "TrajectoryFileError",
    "advantages",
    "contact_sheet",
    "episode_gif",
    "group_of",
    "read_trajectories",
    "replay_page",
    "write_trajectories",
]
