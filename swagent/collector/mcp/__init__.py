"""The collector's answers for editors and their models, by the Model Context Protocol: over stdio, and at `/mcp`.

asking asks the queries of the JSON API, of this process or of another collector; tools has a tool for each question,
whose answer is text, within a bound (bounded); serving speaks the protocol, by the package `mcp`, which is an extra.
"""
