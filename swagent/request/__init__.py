"""One request, whichever way it is served: by ASGI, by WSGI or by a server with a protocol of its own.

An adapter (`swagent.asgi`, `swagent.wsgi`, the servers in `swagent.instrument`) writes the request into a scope as in
the ASGI specification, begins a `PendingRequest`, notes its status and ends it. Each module imports only modules below
it:

    failure        an exception that left the application's code
    pending        a request while it is served; most of them never need a span
    span           the span of a request, where one is needed
    scope          the facts in a scope: method, host, caller, route
    routes         the route that took a request
    description    the name, the tags and the outcome of a request, made of its facts
    split_times    where its time went, and the clock that counts it
    facts          the types that the fast path and the full one share
    faults         errors of the agent itself, which cost no request
"""
