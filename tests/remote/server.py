"""An HTTP server with ranges for a directory, which can be told to fail: Server(directory) as server, then server.url.

server.latency: seconds before each answer. server.faults: a function of (path, begin, end, number of the request) that names what goes
wrong with it, or None: "500", "503", "403", "404", "cut" (the connection ends in the middle), "wrong" (a byte is altered), "stall"
(nothing comes after the headers), "slow" (it begins after a pause), "reset" (no answer), "whole" (ranges are ignored), "short" (another
range); or a function of (handler, path of the file, begin, end), which answers itself. server.requests: (path, begin, end) of each.
server.headers: (path, headers) of each.
"""
import contextlib
import http.server
import multiprocessing
import os
import socket
import socketserver
import ssl
import threading
import time
from urllib.parse import unquote, urlsplit


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def refuse(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self):
        """Size and state of a file alone, as clients of S3 ask first."""
        self.do_GET()

    def do_GET(self):
        server = self.server
        path = unquote(urlsplit(self.path).path)
        file = os.path.join(server.directory, *path.strip("/").split("/"))
        size = os.path.getsize(file) if os.path.isfile(file) else 0
        asked = self.headers.get("Range", "")
        begin, end = 0, size
        if asked:
            first, last = asked[len("bytes="):].split("-")
            begin, end = int(first), min(int(last) + 1, size) if last else size
        with server.lock:
            server.requests.append((path, begin, end))
            server.headers.append((path, dict(self.headers)))
            number = len(server.requests)
            server.running += 1
            server.most = max(server.most, server.running)
        try:
            fault = server.faults(path, begin, end, number) if server.faults else None
            self.answer(file, size, begin, end, bool(asked), fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with server.lock:
                server.running -= 1

    def answer(self, file, size, begin, end, ranged, fault):
        time.sleep(self.server.latency)
        if callable(fault):
            self.close_connection = True
            return fault(self, file, begin, end)
        if fault in ("500", "503", "403"):
            return self.refuse(int(fault))
        if fault == "404" or not os.path.isfile(file):
            return self.refuse(404)
        if ranged and begin >= size:
            return self.refuse(416)
        if fault == "reset":
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        if fault == "slow":
            time.sleep(0.3)
        if fault == "whole":
            begin, end, ranged = 0, size, False
        if fault == "short":
            end -= 1
        with open(file, "rb") as opened:
            opened.seek(begin)
            data = bytearray(opened.read(end - begin))
        self.send_response(206 if ranged else 200)
        if ranged:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("Content-Length", str(len(data)))
        status = os.stat(file)
        self.send_header("ETag", f'"{status.st_mtime_ns:x}-{size:x}"')
        self.send_header("Last-Modified", self.date_time_string(status.st_mtime))
        self.end_headers()
        if self.command == "HEAD":
            return None
        if fault == "stall":
            self.close_connection = True
            return self.server.stopped.wait(20)
        if fault == "wrong" and data:
            data[len(data) // 2] ^= 1
        if fault == "cut":
            self.close_connection = True
            data = data[:len(data) // 2]
        with self.server.lock:
            self.server.sent += len(data)
        return self.wfile.write(data)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size, block_on_close = True, 128, False

    def __init__(self, directory, port=0, certificate=None):
        """certificate: the paths of a certificate and its key, for https."""
        super().__init__(("127.0.0.1", port), Handler)
        self.directory, self.latency, self.faults = directory, 0.0, None
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.forget()
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_address[1]}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            # Handshakes are made by the threads of connections, when they first read.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def forget(self):
        """Begins to count anew."""
        self.requests, self.headers, self.sent, self.running, self.most = [], [], 0, 0, 0

    def handle_error(self, *_):
        """A client that goes away in the middle is no fault of the server."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()


def serve(pipe, folder, latency):
    """A server that tells and forgets its counts when it is asked."""
    with Server(folder) as server:
        server.latency = latency
        pipe.send(server.url)
        while pipe.recv():
            pipe.send((len(server.requests), server.sent))
            server.forget()


@contextlib.contextmanager
def apart(folder, latency):
    """A server in a process of its own, for measurements: its URL, and a function that gives the requests and bytes since it was last called."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    server = context.Process(target=serve, args=(other, str(folder), latency), daemon=True)
    server.start()

    def counts():
        pipe.send(True)
        return pipe.recv()
    yield pipe.recv(), counts
    pipe.send(False)
    server.join()
