"""`python -m treadle` is the command line."""

from .host.cli import main

if __name__ == "__main__":
    main()
