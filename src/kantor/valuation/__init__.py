"""How far data lie from the target, and what follows from it: distances, tasks, noise, bounds and shares."""
