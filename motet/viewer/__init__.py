"""Pictures of runs for people: the transcript, the live view, the replay."""
