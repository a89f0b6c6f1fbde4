"""Pictures and text of a maze: frames, PNG, data URIs, ASCII."""
