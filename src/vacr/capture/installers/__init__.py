"""Put hooks into the settings of agents, and take them out again: other programs' files, of which
nothing else may change.
"""
