"""`python -m bench`: `doorward bench --full`, from a checkout."""

from __future__ import annotations

import sys

from doorward.cli.bench import command

command(["--full", *sys.argv[1:]], prog_name="python -m bench")
