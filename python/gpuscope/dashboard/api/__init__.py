"""The dashboard's server; its interface for programs is described at ``/api/`` of its address."""
