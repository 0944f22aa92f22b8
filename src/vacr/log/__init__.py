"""A transparency log: storage, sequencer, service, and the clients of such services. Step:
register.
"""
