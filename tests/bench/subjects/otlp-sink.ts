// Accepts and discards all requests, in the place of an OTLP collector. Its argument is its port.
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
  );
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('ready'));
process.once('disconnect', () => process.exit());
