"""Documents: how text that people write becomes frozen values, and how a fault in it is told.

The lowest floor. It knows nothing of policies, load or engines: only fields with units and
ranges, problems with paths, canonical bytes with a hash, and registries of one-file things.
"""
