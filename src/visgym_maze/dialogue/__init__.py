"""Chat turns about a maze: prompts, parsing, episodes, trajectories."""
