// What no relay on node:http can go below: it reads the request and answers 500 bytes of JSON.
import { createServer } from 'node:http';

const head = '{"jsonrpc":"2.0","id":1,"result":"';
const body = Buffer.from(`${head}${'x'.repeat(500 - head.length - 2)}"}`);

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': body.length,
    });
    response.end(body);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => process.exit(0));
