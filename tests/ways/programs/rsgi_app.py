from shop import look_up


async def app(scope, protocol):
    protocol.response_str(200, [("content-type", "text/plain")], look_up(scope.path.rpartition("/")[2]))
