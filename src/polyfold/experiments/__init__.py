"""Whole jobs from data to table: the demo, and the experiments of the papers."""
