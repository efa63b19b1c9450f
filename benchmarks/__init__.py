"""Each file backs one claim about speed: `measure(quick)` returns numbers, in one run, beside what a user would use."""
