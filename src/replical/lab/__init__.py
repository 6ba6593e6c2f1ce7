"""What a real lab works with: protocol, tables, journal, people who label, certificate.

`journal` writes each label to the disk and says what its events mean for each item, `sessions` rebuild the run from them and
hand items to people, `page` is where people label, `certificate` writes, checks and compares what a run publishes.
"""
