"""The gateway's side towards engines: lean connections, kept alive."""
