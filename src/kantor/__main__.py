"""`python -m kantor` is the command line."""

from kantor.cli import main

main()
