"""What a shell command did to files and showed of them, as far as its text proves it. Step:
attribute.
"""
