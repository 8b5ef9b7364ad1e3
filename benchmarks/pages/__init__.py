"""Pages of the documentation that are written from the figures in `benchmarks/results`, never by hand."""
