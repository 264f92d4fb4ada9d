"""One request, whatever serves it: ASGI, WSGI or a server of its own.

An adapter (`swagent.asgi`, `swagent.wsgi`, the servers in `swagent.instrument`) writes down the request as a scope of
the ASGI specification, begins a `PendingRequest`, notes its status and ends it. In this order the modules import each
other, the last one first:

    failure        an exception that left the application's code
    pending        a request while it is served; most of them never need a span
    span           the span of a request, where one is needed
    scope          the facts in a scope: method, host, caller, route
    routes         the route that took a request
    description    the name, the tags and the outcome of a request, made of its facts
    facts          the types that the fast path and the full one share
    faults         errors of the agent itself, which cost no request
"""
