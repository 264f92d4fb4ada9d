import http.server
import threading

from locust import HttpUser, constant, task


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()


class Shopper(HttpUser):
    host = f"http://127.0.0.1:{server.server_port}"
    wait_time = constant(10)

    @task
    def look(self):
        self.client.get("/items/7")
        self.environment.runner.quit()
