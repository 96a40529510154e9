"""What users import to test their own runs."""
