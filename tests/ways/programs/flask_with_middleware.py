from flask_app import app

from swagent.wsgi import SkyWalkingMiddleware

app.wsgi_app = SkyWalkingMiddleware(app.wsgi_app)
