"""One module per question, each answering it for a :class:`~gpuscope.hta.common.trace.Trace`."""
