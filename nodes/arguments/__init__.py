"""A call's arguments: checked against the tool's schema, then taken field by field."""
