// An MCP server that uses the network through the proxy of its environment. `fill` answers at once, `get` after one
// request on a new connection. `download` reads an endless answer on each of `bytes` connections, until `stop`.
import { request } from 'node:http';
import { createInterface } from 'node:readline';

const proxy = URL.parse(process.env.HTTP_PROXY ?? '');
const downloads = new Set();
let received = 0;

/** Opens a tunnel through the proxy to the source of downloads. */
function tunnel() {
  const { promise, resolve, reject } = Promise.withResolvers();
  request({
    host: proxy.hostname,
    port: proxy.port,
    method: 'CONNECT',
    path: 'source.test:80',
    agent: false,
  })
    .on('connect', ({ statusCode }, socket) =>
      statusCode === 200 ? resolve(socket) : reject(new Error(`CONNECT: ${statusCode}`)),
    )
    .on('error', reject)
    .end();
  return promise;
}

const work = {
  fill: ({ mark }) => mark,
  async get({ mark }) {
    const socket = await tunnel();
    socket.end('GET / HTTP/1.0\r\n\r\n');
    let bytes = 0;
    for await (const chunk of socket) bytes += chunk.length;
    return `${mark}${bytes}`;
  },
  async download({ bytes: connections }) {
    received = 0;
    for (let index = 0; index < connections; index++) {
      const socket = await tunnel();
      downloads.add(socket);
      socket.on('data', chunk => (received += chunk.length));
      socket.on('error', () => {});
      socket.write('GET /flood HTTP/1.0\r\n\r\n');
    }
    return 'started';
  },
  stop() {
    for (const socket of downloads) socket.destroy();
    downloads.clear();
    return `received ${received}`;
  },
};

const inputSchema = { type: 'object' };
const results = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'network', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: Object.keys(work).map(name => ({ name, inputSchema })) }),
  async 'tools/call'({ name, arguments: given }) {
    return { content: [{ type: 'text', text: await work[name](given) }] };
  },
};

async function handle(line) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = await results[method](params ?? {});
  process.stdout.write(`${JSON.stringify({ result, jsonrpc: '2.0', id })}\n`);
}

const lines = createInterface({ input: process.stdin });
lines.on('line', line => void handle(line));
lines.on('close', () => process.exit(0));
