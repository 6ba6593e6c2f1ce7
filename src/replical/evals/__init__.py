"""Where every item has been scored: leaderboards of whole tables, and logs of evaluations that become tables."""
