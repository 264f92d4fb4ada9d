"""The findings, each with a sentence and its evidence: of one trace, and over all that are kept."""
