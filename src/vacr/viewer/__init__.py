"""Showing records to people: what a conversation says, row by row, as text and as a page."""
