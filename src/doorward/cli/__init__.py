"""The `doorward` command, one file per subcommand."""
