"""`python -m doorward` is the `doorward` command."""

from doorward.cli.main import main

if __name__ == "__main__":
    main()
