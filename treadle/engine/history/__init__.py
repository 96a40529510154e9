"""The runs of a data root as a whole: listing them, keeping few of them, and forgetting those of a chat."""
