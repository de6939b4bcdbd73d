// Lower limit of any relay on node:http: reads the request and answers with prepared JSON, of 500 bytes or from the
// given file.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file] = process.argv.slice(2);
const head = '{"jsonrpc":"2.0","id":1,"result":"';
const body = file
  ? readFileSync(file)
  : Buffer.from(`${head}${'x'.repeat(500 - head.length - 2)}"}`);

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
server.listen(Number(port), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => process.exit(0));
