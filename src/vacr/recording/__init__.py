"""Recording: places → files of records. One of them or a folder of many, in this process, in
several, or on a cluster.
"""
