"""What works on this machine, and how to mend the rest.

Each check tries the real thing: a worker is started and given a page, a file is written, what an operator configured is
connected to. Nothing is sent to the web.
"""

from jupyter_webresearch.doctor.examination import examine
from jupyter_webresearch.doctor.finding import Finding

__all__ = ["Finding", "examine"]
