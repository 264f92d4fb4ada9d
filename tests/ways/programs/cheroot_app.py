import signal
import sys
import threading

from cheroot.wsgi import Server
from flask_app import app

server = Server(("127.0.0.1", int(sys.argv[1])), app)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.stop).start())
server.start()
