"""A client of debugpy: it attaches to a script, stops at breakpoints, steps, and looks at variables."""

import itertools
import json
import socket
import subprocess
import sys
import time

PORT = int(sys.argv[1])


class Client:
    def __init__(self, connection):
        self.connection, self.stream = connection, connection.makefile("rb")
        self.numbers, self.events, self.answers = itertools.count(1), [], {}

    def send(self, command, **arguments):
        number = next(self.numbers)
        body = json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        self.connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return number

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def answer(self, number):
        while number not in self.answers:
            self.receive()
        answer = self.answers.pop(number)
        assert answer["success"], answer
        return answer.get("body")

    def event(self, name):
        while not any(each["event"] == name for each in self.events):
            self.receive()
        found = next(each for each in self.events if each["event"] == name)
        self.events.remove(found)
        return found.get("body")

    def receive(self):
        length = 0
        while line := self.stream.readline().strip():
            length = int(line.partition(b":")[2])
        message = json.loads(self.stream.read(length))
        if message["type"] == "event":
            self.events.append(message)
        else:
            self.answers[message["request_seq"]] = message

    def show(self):
        thread = self.event("stopped")["threadId"]
        frames = self.ask("stackTrace", threadId=thread)["stackFrames"]
        print([(each["name"], each["line"]) for each in frames])
        scope = self.ask("scopes", frameId=frames[0]["id"])["scopes"][0]["variablesReference"]
        print({each["name"]: each["value"] for each in self.ask("variables", variablesReference=scope)["variables"]})
        return thread


def connected():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", PORT))
        except ConnectionRefusedError:
            time.sleep(0.05)


command = [sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{PORT}", "--wait-for-client", "script.py"]
with subprocess.Popen(command) as script, connected() as connection:
    client = Client(connection)
    client.ask("initialize", adapterID="debugpy", clientID="shop")
    attaching = client.send("attach", justMyCode=True)
    client.event("initialized")
    client.ask("setBreakpoints", source={"path": "script.py"}, breakpoints=[{"line": 22}, {"line": 13}])
    client.ask("configurationDone")
    client.answer(attaching)
    for command in ("stepIn", "continue", "next", "next"):
        client.ask(command, threadId=client.show())
    client.ask("continue", threadId=client.show())
    client.event("terminated")
print("exit code", script.returncode)
