"""Measurements: studies ask a question, results keep the answer."""
