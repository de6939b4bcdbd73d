// The MCP server behind every subject. It answers as cheaply as Node can, so that the cost of the relay dominates.
// `fill` returns `mark` and then `bytes` letters. An argument sets the number of tools, which all do the same.
const fillers = new Map();
const out = [];
let rest = '';

function filler(bytes) {
  const known = fillers.get(bytes) ?? 'x'.repeat(bytes);
  fillers.set(bytes, known);
  return known;
}

const inputSchema = {
  type: 'object',
  properties: { mark: { type: 'string' }, bytes: { type: 'number' } },
};

const count = Number(process.argv[2] ?? 1);
const tools = Array.from({ length: count }, (_, index) => ({
  name: index === 0 ? 'fill' : `fill${index}`,
  description: 'Fills.',
  inputSchema,
}));

const results = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { mark, bytes } }) => ({
    content: [{ type: 'text', text: mark + filler(bytes - mark.length) }],
  }),
};

// Answers of one event loop turn go out in one write, with the id last, as the TypeScript SDK writes it.
function answer(id, result) {
  if (out.length === 0) setImmediate(() => process.stdout.write(out.splice(0).join('')));
  out.push(`{"result":${JSON.stringify(result)},"jsonrpc":"2.0","id":${JSON.stringify(id)}}\n`);
}

function refuse(id, message) {
  process.stdout.write(
    `${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message } })}\n`,
  );
}

process.stdin.setEncoding('utf8');
process.stdin.on('data', text => {
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    if (results[method]) answer(id, results[method](params ?? {}));
    else refuse(id, `there is no method ${method}`);
  }
});
process.stdin.on('end', () => process.exit(0));
