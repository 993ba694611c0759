"""One file a stage: how it begins, what its evidence says, how it ends."""
