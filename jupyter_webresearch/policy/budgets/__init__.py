"""How much may be asked: limits that are judged together, all or nothing, and where they are counted."""
