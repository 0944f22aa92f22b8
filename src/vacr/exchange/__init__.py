"""Records for other tools, and what other tools have as records: `formats` names what there is."""
