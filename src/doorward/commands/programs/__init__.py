"""Commands shell/* and bash: run programs in the sandbox. The interactive session shell is in `doorward.shell`."""

from __future__ import annotations

from doorward.commands.programs import context, folders
from doorward.commands.programs.bash import bash_family
from doorward.commands.programs.catalogue_command import CatalogueCommand, build_commands
from doorward.commands.programs.family import family

__all__ = ["CatalogueCommand", "bash_family", "build_commands", "context", "family", "folders"]
