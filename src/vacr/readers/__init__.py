"""Native bytes → records, one module an agent. Step: read. No value is lost; see `lift` for how.

`registry` knows the readers and finds the one for a source; `assemble` makes the record of what a
reader found.
"""
