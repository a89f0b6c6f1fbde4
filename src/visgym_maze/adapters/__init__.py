"""How do other programs play a maze? A page for each; none imports its trainer before it is needed."""
