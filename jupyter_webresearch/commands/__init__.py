"""The commands of ``jupyter webresearch``, one module each: ``add_to`` declares it, ``run`` does it."""
