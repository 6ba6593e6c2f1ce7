"""What a real lab works with: protocol, tables, journal, people who label, certificate.

`journal` writes each label to the disk, `ledger` says what its events mean for each item, `session` rebuilds the run from
them. `desk`, `remote` and `page` let people label; `certificate` writes, checks and compares what a run publishes.
"""
