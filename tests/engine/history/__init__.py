"""Tests of listing runs, keeping few of them, and forgetting those of a chat."""
