"""The tamper-evident ledger: checkpoints, verification, rotation and recovery. Writing is in `store.sqlite`."""
