"""What `kantor` does, one module for each command; `kantor.cli` puts them together."""
