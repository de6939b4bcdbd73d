# Source of downloads: an endless answer for /flood, otherwise a short one. sendfile keeps it cheap, as it shares the
# processors with the measured processes.
import os
import socketserver

size = 16 * 2**20
flood = os.memfd_create("flood")
os.truncate(flood, size)


class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        head = self.request.recv(4096)
        try:
            if b"/flood" not in head.split(b"\r\n")[0]:
                return self.request.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 200)
            self.request.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
            while True:
                os.sendfile(self.request.fileno(), flood, 0, size)
        except OSError:
            pass  # The client has closed the connection.


class Source(socketserver.ThreadingTCPServer):
    request_queue_size = 128


print("ready", flush=True)
Source(("0.0.0.0", 80), Answer).serve_forever()
