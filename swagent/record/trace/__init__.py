"""Spans and the segments that they form: ids, context, carriers, sampling."""
