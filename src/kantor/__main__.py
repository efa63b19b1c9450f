"""`python -m kantor` is the command line."""

from kantor.cli import main

if __name__ == "__main__":  # forked processes import this module again under another name
    main()
