"""Commands shell/* and bash: run programs in the sandbox. The interactive session shell is in `doorward.shell`."""

from __future__ import annotations

from doorward.backends.shell import files, folder, history, info
from doorward.backends.shell.bash import bash_family
from doorward.backends.shell.catalogue_command import CatalogueCommand, commands
from doorward.backends.shell.family import family

__all__ = ["CatalogueCommand", "bash_family", "commands", "family", "files", "folder", "history", "info"]
