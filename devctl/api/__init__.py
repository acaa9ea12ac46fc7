"""Names that all parts of devctl share: kinds, labels, conditions."""
