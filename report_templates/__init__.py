"""The report: HTML and CSS templates, and what fills them. It reads the results store and nothing else."""
