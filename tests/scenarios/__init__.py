"""Real runs through the real engine, one for each way that a run can go; shared by several tests."""
