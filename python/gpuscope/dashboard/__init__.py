"""The dashboard of a folder of runs: ``python -m gpuscope.dashboard.api.server --port 6970``, or ``gpuscope serve``."""
