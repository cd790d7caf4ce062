"""The one way out: resolve, judge, dial, read within limits."""
