"""An agent that knows nothing of Motet: the standard library and the protocol's two messages.

python foreign_agent.py SERVER NAME ABOUT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import Request, urlopen


class Abacus(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        words = asked["messages"][-1]["text"]
        body = json.dumps({"reply": f"I was sent {len(words) > 0} words. 17 + 25 = 42"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server, name, about = sys.argv[1:]
    http = HTTPServer(("127.0.0.1", 0), Abacus)
    address = f"http://127.0.0.1:{http.server_port}"
    entry = json.dumps({"name": name, "about": about, "address": f"agent:{address}"}).encode()
    urlopen(Request(f"{server}/agents", entry, {"content-type": "application/json"})).close()
    print(address, flush=True)
    http.serve_forever()
