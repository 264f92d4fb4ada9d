"""The standard library: threads and pools, sqlite3, `http.server`, wsgiref."""

from __future__ import annotations

from differential.program import Line, World, call, choices, lines

THREADS = World(
    "threads",
    (),
    """
    import asyncio, functools, multiprocessing, threading
    from concurrent.futures import Future, ThreadPoolExecutor
    class A:
        def go(self, *args, **kwargs):
            event("go", args, kwargs)
            return "gone"
        def fail(self):
            raise LookupError("of a thread") from ValueError("below")
        def __repr__(self):
            return "A()"
    class Own(threading.Thread):
        def run(self):
            event("own run", self.name, sorted(vars(self)))
        def start(self):
            event("own start")
            return super().start()
    class Pool(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            event("own submit", fn, args)
            return super().submit(fn, *args, **kwargs)
    a = A()
    pool = enter(ThreadPoolExecutor(1, thread_name_prefix="p", initializer=event, initargs=("init",)))
    own = enter(Pool(1))
    def started(thread):
        thread.start()
        thread.join()
        return thread
    def chained():
        try:
            1 / 0
        except ZeroDivisionError:
            return pool.submit(a.fail).result()
    """,
    (
        # without an end it is the machine's doing how far a call is, so `done` and `cancel` come after one
        call(
            "pool.submit 1/1 x3",
            "fn = a.go | A.go | a.fail | len | functools.partial(a.go, 1); self = a; * = a | 1; fn_ = 1",
            _follow=(
                "{}.result() | {}.exception() | ({}.exception(), {}.done()) | ({}.exception(), {}.cancel()) | "
                "{}.add_done_callback(lambda f: event('done'))"
            ),
        ),
        call(
            "pool.submit 0/0",
            "function = a.go; pool = 1; call = 1; original = 1; self = a; fn = 1; args = (1,); * = a.go",
            _follow="{}.result()",
        ),
        Line("pool.submit(A.go, self=a)", follow=("{}.result()",)),
        call("own.submit 1/1", fn="a.go | a.fail", _rest="1", x="2", _follow="{}.result()"),
        *lines(
            "list(pool.map(str, [1, 2])) | list(own.map(a.go, [1, 2])) | chained() | "
            "ThreadPoolExecutor.submit(pool, a.go, 1).result() | ThreadPoolExecutor.submit(fn=a.go) | "
            "ThreadPoolExecutor.submit() | threading.Thread.start()"
        ),
        call(
            "threading.Thread 0/3 x2",
            "group = None; target = a.go | a.fail | None | 17; name = 'n'; args = (1,); kwargs = {'a': 1}; "
            "daemon = True",
            _follow=(
                "started({}) | {}.start() | {}.join(5) | {}.name | threading.Thread.start(self={}) | "
                "started({}) and {}.start()"
            ),
        ),
        Line("started(Own())", follow=("sorted(vars({}))",)),
        Line("threading.Timer(0, a.go, ['t'], {'k': 1})", follow=("started({})",)),
        *lines(
            "[t := threading.Thread(target=a.go), setattr(t, 'run', lambda: event('own')), started(t)][0] | "
            "describe(threading.Thread.start) | describe(ThreadPoolExecutor.submit) | "
            "describe(pool.submit) | describe(threading.Thread.run) | "
            "asyncio.run(asyncio.wait_for(asyncio.to_thread(a.go, 1, k=2), 5))"
        ),
        Line("pool.shutdown()", follow=("pool.submit(a.go)",)),
        Line("threading.Thread.start.__qualname__, ThreadPoolExecutor.submit.__text_signature__"),
    ),
    records=False,
)

_SQL = choices(
    "'SELECT 1' | 'SELECT * FROM t' | 'INSERT INTO t VALUES (1, ?)' | 'SELECT nonsense' | "
    "'SELEC' | '' | 'BEGIN' | 'UPDATE t SET b = 2' | 'SELECT ?' | 'SELECT :a' | "
    "'SELECT 1; SELECT 2' | Text('SELECT 1')"
)
_VALUES = choices("(1,) | [1] | {'a': 1} | ('x',) | iter([1]) | (object(),) | ()")
_CURSOR = choices(
    "{}.fetchall() | {}.fetchone() | {}.rowcount | {}.lastrowid | {}.description | list({}) | "
    "{}.close() | {}.connection | type({}) is sqlite3.Cursor | {} | "
    "{}.execute('SELECT 2').fetchall() | next({}) | "
    "{}.executemany('INSERT INTO t VALUES (?, ?)', [(5, 6)])"
)
SQLITE3 = World(
    "sqlite3",
    ("sqlite3",),
    """
    import functools, sqlite3
    from sqlite3 import dbapi2
    class Text(str):
        pass
    class Own(sqlite3.Connection):
        def execute(self, sql, *args):
            event("own", sql)
            return super().execute(sql, *args)
        def cursor(self, *args, **kwargs):
            event("own cursor", args, kwargs)
            return super().cursor(*args, **kwargs)
    class OwnCursor(sqlite3.Cursor):
        def execute(self, *args):
            event("own cursor's", args)
            return super().execute(*args)
    def trace(text):
        event("trace", text)
    class Where:
        def __fspath__(self):
            event("asked for the path")
            return ":memory:"
    db = sqlite3.connect(":memory:", check_same_thread=False)
    at_end(db.close)
    db.execute("CREATE TABLE t (a, b)")
    db.execute("INSERT INTO t VALUES (1, 'x')")
    own = sqlite3.connect(":memory:", factory=Own)
    at_end(own.close)
    cursor = db.cursor()
    """,
    (
        call("db.execute 1/2 x3", sql=_SQL, parameters=_VALUES, _follow=_CURSOR),
        call("cursor.execute 1/2 x3", sql=_SQL, parameters=_VALUES, _follow=_CURSOR),
        call("own.execute 1/2", sql=_SQL, parameters=_VALUES, _follow=_CURSOR),
        call("db.executemany 2/2", sql=_SQL, parameters="[(1,)] | iter([(1,), (2,)]) | [] | 17", _follow=_CURSOR),
        call("db.executescript 1/1", sql="'SELECT 1; INSERT INTO t VALUES (3, 4);' | 'SELEC' | b''", _follow=_CURSOR),
        call(
            "db.cursor 0/1",
            factory="sqlite3.Cursor | OwnCursor | OwnCursor | lambda c: sqlite3.Cursor(c) | list",
            _follow=_CURSOR,
        ),
        call(
            "sqlite3.connect 1/8 x3",
            "database = ':memory:' | '/nowhere/x' | Where(); timeout = 5.0; detect_types = 0; "
            "isolation_level = None | 'DEFERRED'; check_same_thread = True | False; "
            "factory = sqlite3.Connection | Own | lambda *a, **k: Own(*a, **k) | dict; cached_statements = 10; "
            "uri = False",
            _follow=(
                "type({}) is sqlite3.Connection | {} | {}.execute('SELECT 1').fetchall() | {}.total_changes | "
                "{}.close() | {}.__enter__() | type({}).__mro__"
            ),
        ),
        call("sqlite3.Connection 1/1", database="':memory:'", _follow="{}.execute('SELECT 1') | {}.close()"),
        Line("sqlite3.Cursor(db)", follow=_CURSOR),
        Line("OwnCursor(db)", follow=_CURSOR),
        *lines(
            "type(db) is sqlite3.Connection | type(cursor) is sqlite3.Cursor | "
            "isinstance(db, dbapi2.Connection) | dbapi2.connect is sqlite3.connect | db('SELECT 1') | "
            "list(db.iterdump()) | setattr(db, 'row_factory', sqlite3.Row) | "
            "setattr(db, 'text_factory', bytes) | db.rollback() or db.backup(sqlite3.connect(':memory:'))"
        ),
        Line("db.create_function('f', 1, lambda x: 1 / 0)", follow=("db.execute('SELECT f(1)').fetchall()",)),
        *lines(
            "db.set_trace_callback(trace) | setattr(db, 'typo', 1) | setattr(cursor, 'typo', 1) | "
            "db.__enter__() | db.__exit__(None, None, None) | db.in_transaction, db.isolation_level | "
            "db.commit() | db.rollback() | db.interrupt() | "
            "in_pool(functools.partial(sqlite3.connect, ':memory:')) | hash(db) == hash(db), db == db | "
            "[sqlite3.connect(':memory:')] and 1 | "
            "eval('sqlite3.connect(\":memory:\")', {'sqlite3': sqlite3, '__name__': None}).close() | "
            "cursor.arraysize, sqlite3.Connection.__subclasses__() | describe(sqlite3.connect)"
        ),
        *(Line(f"surface('sqlite3', {number})") for number in range(0, 120, 15)),
    ),
)


_REQUESTS = choices(
    "'GET /item/1 HTTP/1.0\\r\\n\\r\\n' | 'HEAD / HTTP/1.0\\r\\n\\r\\n' | 'NOTHING\\r\\n\\r\\n' | "
    "'POST /item HTTP/1.0\\r\\nContent-Length: 3\\r\\n\\r\\nabc' | "
    "'GET /fail HTTP/1.0\\r\\n\\r\\n' | "
    "'GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' | "
    "'GET / HTTP/9.9\\r\\n\\r\\n' | '' | "
    "'GET /error HTTP/1.0\\r\\nsw8: nonsense\\r\\nX-A: b\\r\\n\\r\\n' | "
    "'PUT / HTTP/1.0\\r\\n\\r\\n' | 'GET /iter?x=1 HTTP/1.0\\r\\n\\r\\n' | "
    "'GET /late HTTP/1.0\\r\\n\\r\\n'"
)
_ASKING = """
    import io, socket, threading
    def ask(text):
        data = text.encode()
        with socket.create_connection(server.server_address, 10) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            data = b"".join(iter(lambda: connection.recv(65536), b""))
        return data.split(b"\\r\\n")
    """
HTTP_SERVER = World(
    "http.server",
    (),
    _ASKING
    + """
    import http.server
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            event(self.command, self.path, sorted(self.headers), sorted(n for n in vars(self) if n[0] != "_"))
            if self.path == "/fail":
                raise LookupError("of a handler")
            if self.path == "/error":
                return self.send_error(418, "tea", "leaves")
            self.send_response(200, "Fine")
            self.send_header("X-A", "b")
            self.end_headers()
            self.wfile.write(b"hello")
        def do_POST(self):
            event(self.rfile.read(int(self.headers["content-length"])))
            self.send_response_only(204)
            self.end_headers()
        def log_message(self, form, *args):
            event("log", form % args)
        def handle_one_request(self):
            event("one")
            return super().handle_one_request()
        def send_response(self, code, message=None):
            event("response", code, message)
            return super().send_response(code, message)
    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            import sys
            event("error", sys.exc_info()[1])
    server = enter(Server(("127.0.0.1", 0), Handler))
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    at_end(serving.join)
    at_end(server.shutdown)
    """,
    (call("ask 1/1 x6", text=_REQUESTS), *(Line(f"surface('http.server', {number})") for number in range(0, 90, 12))),
)

_WSGI_APPS = """
    class Closing:
        def __init__(self, parts):
            self.parts = iter(parts)
        def __iter__(self):
            return self
        def __next__(self):
            return next(self.parts)
        def close(self):
            event("closed")
    def plain(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"a", b"b"]
    def iterator(environ, start_response):
        start_response("200 OK", iter([("X-A", "b")]))
        return iter([b"a"])
    def generator(environ, start_response):
        start_response("201 Made", [("X-A", "b")])
        yield b"a"
        event("between")
        yield b"b"
    def fails(environ, start_response):
        raise LookupError("of an application") from ValueError("below")
    def fails_later(environ, start_response):
        start_response("200 OK", [])
        yield b"a"
        raise LookupError("later")
    def closing(environ, start_response):
        event(start_response("200 OK", [("X-A", "b")]))
        return Closing([b"a", b"b"])
    def writes(environ, start_response):
        write = start_response("200 OK", [], None)
        write(b"written")
        return []
    def file(environ, start_response):
        start_response("200 OK", [])
        return environ.get("wsgi.file_wrapper", lambda f: [f.read()])(io.BytesIO(b"a file"))
    def looks(environ, start_response):
        event(sorted(k for k in environ if k.startswith(("wsgi", "HTTP_", "REQUEST_"))), type(environ))
        event(describe(start_response)["is"])
        start_response("200 OK", [])
        return (b"looked",)
    """
# other applications are in tests/wsgi/test_transparency.py
_APPS = choices("plain | iterator | generator | fails | fails_later | closing | writes | file | looks")

WSGI = World(
    "wsgi",
    (),
    """
    import io
    from wsgiref.handlers import SimpleHandler
    from wsgiref.util import setup_testing_defaults
    """
    + _WSGI_APPS
    + """
    class Handler(SimpleHandler):
        os_environ = {}
        def log_exception(self, exc_info):
            event("log", exc_info[1])
    def serve(app, path="/item/1", **more):
        environ = {"PATH_INFO": path, **more}
        setup_testing_defaults(environ)
        out = io.BytesIO()
        Handler(io.BytesIO(b"abc"), out, io.StringIO(), environ).run(wsgi(app))
        return out.getvalue().split(b"\\r\\n")
    def call(app, environ=None):
        environ = dict(environ or {})
        setup_testing_defaults(environ)
        seen = []
        body = wsgi(app)(environ, lambda *args, **kwargs: seen.append((args, kwargs)) or seen.append)
        return seen, type(body).__name__ if type(body) in (list, tuple) else hasattr(body, "close"), [*body]
    """,
    (
        call(
            "serve 1/2 x6",
            app=_APPS,
            path="'/' | '/caf\\xe9'",
            HTTP_SW8="'nonsense' | '1-MQ==-MQ==-1-MQ==-MQ==-MQ==-MQ=='",
            REQUEST_METHOD="'HEAD' | 'POST'",
        ),
        call("call 1/2 x2", app=_APPS, environ="{'REQUEST_METHOD': 'POST'}"),
    ),
)

WSGIREF = World(
    "wsgiref",
    (),
    _ASKING
    + _WSGI_APPS
    + """
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
    class Quiet(WSGIRequestHandler):
        def log_message(self, form, *args):
            event("log", form % args)
        def get_stderr(self):
            return io.StringIO()
    server = enter(make_server("127.0.0.1", 0, plain, handler_class=Quiet))
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    at_end(serving.join)
    at_end(server.shutdown)
    def ask_of(app, text):
        server.set_app(app)
        return ask(text)
    """,
    (
        call("ask_of 2/2 x6", app=_APPS, text=_REQUESTS),
        call(
            "server.set_app 1/1", application="plain | looks", app="plain", _follow="ask('GET / HTTP/1.0\\r\\n\\r\\n')"
        ),
        *lines("server.get_app() is server.application | describe(WSGIServer.set_app)"),
        *(Line(f"surface('wsgiref.simple_server', {number})") for number in range(0, 60, 9)),
    ),
)

WORLDS = (THREADS, SQLITE3, HTTP_SERVER, WSGI, WSGIREF)
