"""The command line: a thin layer over the yard. Nothing heavy is imported until it is needed."""
