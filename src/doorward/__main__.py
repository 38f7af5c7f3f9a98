"""The `doorward` command, also as `python -m doorward`. Clients wait for `doorward hook`, so it loads nothing else."""

import sys


def main() -> None:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & {*sys.argv}:
        from doorward.cli import hook_client  # noqa: PLC0415

        sys.exit(hook_client.main(sys.argv[2:]))
    from doorward.cli.main import main  # noqa: PLC0415

    main()


if __name__ == "__main__":
    main()
