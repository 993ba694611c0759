"""Reports: a finished run as files and tables. One file a format."""
