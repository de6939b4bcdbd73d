import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';
import { type Dice, createDice } from '../fuzz/dice.ts';
import { replay, seed } from '../fuzz/settings.ts';
import { modernHeaders, modernRequest, openSession } from '../transports/raw.ts';

/** Connection whose received bytes are collected as Latin-1 text. */
type Line = { readonly socket: Socket; readonly text: () => string; readonly over: () => boolean };

async function open(url: string): Promise<Line> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  let isOver = false;
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('close', () => (isOver = true)).on('error', () => {});
  await once(socket, 'connect');
  return { socket, text: () => text, over: () => isOver };
}

/** Returns true if the text contains a whole response, by its Content-Length. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return end >= 0 && text.length >= end + 4 + Number(length ?? 0);
}

/**
 * Removes what differs between equal responses: the date, and the numbers of streams with the sizes of their chunks.
 */
const sameOf = (text: string) =>
  text.replace(/^Date: .*\r\n/m, '').replace(/^(?:[\da-f]+\r\n)?id: \d+-/gm, 'id: ');

const ping = (id: number | string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`;

const callOf = (name: string, given: object) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: given },
  });

const linesOf = (session: string): string[] => [
  'POST /mcp HTTP/1.1',
  'host: localhost',
  'connection: keep-alive',
  'content-type: application/json',
  'accept: application/json, text/event-stream',
  `mcp-session-id: ${session}`,
  'mcp-protocol-version: 2025-11-25',
];

const request = (lines: readonly string[], body: string) =>
  [...lines, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');

/** Changes that make a plain request another request, most of them not valid HTTP. */
const changes: readonly ((lines: string[], dice: Dice) => void)[] = [
  (lines, { pick }) => {
    lines[0] = pick([
      'GET /none HTTP/1.1',
      'post /mcp HTTP/1.1',
      'PUT /mcp HTTP/1.1',
      'POST /mcp HTTP/1.0',
      'POST /mcp HTTP/1.2',
      'POST  /mcp HTTP/1.1',
      'POST /mcp  HTTP/1.1',
      'POST /mcp HTTP/1.1 ',
      'POST /mcp?a=b HTTP/1.1',
      'POST /mcp/ HTTP/1.1',
      'POST /mcp/none HTTP/1.1',
      'POST /%6dcp HTTP/1.1',
      'POST http://localhost/mcp HTTP/1.1',
      'POST /mcp#a HTTP/1.1',
      'POST * HTTP/1.1',
      'POST /mcp/../mcp HTTP/1.1',
      'POST /mcp/__proto__ HTTP/1.1',
    ]);
  },
  (lines, { pick }) => {
    lines.push(
      pick([
        'transfer-encoding: chunked',
        'Transfer-Encoding: identity',
        'expect: 100-continue',
        'expect: a miracle',
        'upgrade: websocket',
        'connection: close',
        'proxy-connection: close',
        'te: trailers',
        'trailer: x',
        'origin: http://localhost:1',
        'origin: http://evil.example',
        'sec-fetch-site: cross-site',
        'content-length: 99',
        'content-type: text/plain',
        'host: evil.example',
        'mcp-session-id: other',
        'MCP-PROTOCOL-VERSION: 2026-07-28',
        'cookie: a=b',
        'cookie: a=b; c="d"',
        '__proto__: x',
        'constructor: x',
        'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        'x: \x00',
        'x: \x7f',
        'x: \xe9',
        'x: a\tb',
        'x:',
        'x: ',
        ':x',
        ': x',
        'x y: z',
        'x : y',
        ' x: y',
        '\tx: y',
        'x',
        'x\r: y',
        'x: a\rb',
        'x: a\nb: c',
        'x: a\n',
        `x: ${'y'.repeat(20_000)}`,
      ]),
    );
  },
  (lines, { under }) => {
    lines.splice(1 + under(lines.length - 1), 1);
  },
  (lines, { under, pick }) => {
    const at = 1 + under(lines.length - 1);
    const line = lines[at] ?? '';
    lines[at] = pick([
      line.toUpperCase(),
      line.replace(': ', ':'),
      line.replace(': ', ':  '),
      line.replace(': ', ':\t'),
      line.replace(': ', ' : '),
      `${line} `,
      `${line}\t`,
      `${line}, ${line.split(': ')[1]}`,
      line.replace(': ', ':\r\n '),
    ]);
  },
  (lines, { under }) => {
    lines.push(lines[1 + under(lines.length - 1)] ?? '');
  },
  (lines, { under }) => {
    const at = under(lines.length);
    const line = lines[at] ?? '';
    const cut = under(line.length + 1);
    lines[at] = line.slice(0, cut) + String.fromCharCode(under(256)) + line.slice(cut + under(2));
  },
];

/** Values of Content-Length. None is shorter than the body, so bytes after it belong to another request. */
const lengths = ['+1', '0x29', '4_1', '-1', '1e1', '', ' ', '99999999999', '٤١', '99 99', '99, 99'];

function changed(session: string, dice: Dice): string {
  const lines = linesOf(session);
  const body = ping(dice.under(1_000_000));
  for (let left = 1 + dice.under(2); left > 0; left--) dice.pick(changes)(lines, dice);
  if (dice.under(6) > 0) return request(lines, body);
  const length = dice.pick([...lengths, `0${body.length}`, ` ${body.length} `, `${body.length}`]);
  const at = 1 + dice.under(lines.length);
  lines.splice(at, 0, `content-length: ${length}`);
  const end = dice.pick(['\r\n', '\r\n', '\r\n', '\n', '\r']);
  return [...lines, '', body].join(end);
}

test(`a request that is nearly plain is answered as by Node's parser ${replay()}`, async () => {
  await using hub = await startHub([]);
  const { id } = await openSession(`${hub.url}/mcp`);
  const dice = createDice(seed);
  let answered = 0;
  for (let round = 0; round < 400; round++) {
    const bytes = Buffer.from(changed(id, dice), 'latin1');
    const [plain, nodes] = await Promise.all([open(hub.url), open(hub.url)]);
    nodes.socket.write('GET /none HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => isWhole(nodes.text()));
    const before = nodes.text().length;
    const ofNode = () => nodes.text().slice(before);
    plain.socket.write(bytes);
    nodes.socket.write(bytes);
    // Both readers wait for the rest of an incomplete request. After a complete one, another request may follow.
    const isDone = (line: Line, text: string) => line.over() || isWhole(text);
    const since = performance.now();
    const isLate = (afterMs: number) => performance.now() - since > afterMs;
    await until(() => (isDone(plain, plain.text()) && isDone(nodes, ofNode())) || isLate(40));
    await until(() => sameOf(plain.text()) === sameOf(ofNode()) || isLate(1_000));
    if (isWhole(ofNode())) answered++;
    assert.equal(sameOf(plain.text()), sameOf(ofNode()), JSON.stringify(bytes.toString('latin1')));
    for (const { socket } of [plain, nodes]) socket.destroy();
  }
  assert.ok(answered > 200, `${answered}`);
});

describe('a connection of plain POSTs', () => {
  test('is answered in the order of its requests, even if the next arrives before the answer', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const { id } = await openSession(`${hub.url}/mcp/echo`);
    const line = await open(hub.url);
    const lines = linesOf(id).with(0, 'POST /mcp/echo HTTP/1.1');
    const slow = callOf('slow', { ms: 200 });
    line.socket.write(request(lines, slow));
    await until(() => hub.router.inFlight === 1);
    line.socket.write(request(lines, ping(2)));
    await new Promise(resolve => setImmediate(resolve));
    line.socket.write(request(lines, ping(3)) + request(lines, ping(4)));
    await until(() => line.text().includes('"id":4'));
    const ids = Array.from(line.text().matchAll(/"id":(\d)/g), ([, one]) => one);
    assert.deepEqual(ids, ['1', '2', '3', '4']);
    line.socket.destroy();
  });

  test('continues as any other after a request that is not plain', async () => {
    await using hub = await startHub([]);
    const { id } = await openSession(`${hub.url}/mcp`);
    const line = await open(hub.url);
    const get = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n';
    for (const [bytes, said] of [
      [request(linesOf(id), ping('a')), '"id":"a"'],
      [get, '"status":"ok"'],
      [request(linesOf(id), ping('b')), '"id":"b"'],
    ] as const) {
      line.socket.write(bytes);
      await until(() => line.text().includes(said));
    }
    assert.equal(line.text().match(/HTTP\/1\.1 200 OK/g)?.length, 3);
    line.socket.destroy();
  });

  test('that is lost cancels the call of a client without a session', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const line = await open(hub.url);
    const headers = Object.entries(modernHeaders('tools/call', 'slow'));
    const lines = ['POST /mcp/echo HTTP/1.1', 'host: localhost'];
    for (const [name, value] of headers) lines.push(`${name}: ${value}`);
    const params = { name: 'slow', arguments: { ms: 60_000 } };
    const body = JSON.stringify(modernRequest(1, 'tools/call', params));
    line.socket.write(request(lines, body));
    await until(() => hub.router.inFlight === 1);
    line.socket.destroy();
    await until(() => hub.router.inFlight === 0);
  });

  test('is closed when the hub stops', async () => {
    const hub = await startHub([]);
    const { id } = await openSession(`${hub.url}/mcp`);
    const line = await open(hub.url);
    line.socket.write(request(linesOf(id), ping(1)));
    await until(() => isWhole(line.text()));
    await hub[Symbol.asyncDispose]();
    await until(() => line.over());
  });
});
