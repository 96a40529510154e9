"""Starts, drives, cancels, resumes and reads runs."""
