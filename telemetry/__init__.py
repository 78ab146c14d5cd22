"""Ground floor: the call schema, one adapter a source format, the audit of every row."""
