from asgi_app import app as bare

from swagent.asgi import SkyWalkingMiddleware

app = SkyWalkingMiddleware(bare)
