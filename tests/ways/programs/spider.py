"""A crawl of a server of its own."""

import http.server
import threading

import scrapy


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<html><a href='/2'>next</a></html>" if self.path == "/1" else b"<html><h1>end</h1></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()


class Spider(scrapy.Spider):
    name = "shop"
    start_urls = [f"http://127.0.0.1:{server.server_port}/1"]
    custom_settings = {"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False}

    def parse(self, response):
        yield {"path": response.url.rpartition("/")[2], "title": response.css("h1::text").get()}
        yield from response.follow_all(css="a")
