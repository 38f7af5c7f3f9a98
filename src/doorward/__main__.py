"""Run the `doorward` command with `python -m doorward`."""

from doorward.cli.main import main

if __name__ == "__main__":
    main()
