"""The store of skills: what a skill is, how one comes in and goes out, and what runs read of it."""
