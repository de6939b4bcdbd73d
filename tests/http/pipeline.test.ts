import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'vitest';
import { startHub, until } from '#helpers/hub';
import { openSession } from '../transports/raw.ts';

const ids = (text: string) => Array.from(text.matchAll(/"id":(\d+)/g), ([, id]) => Number(id));

/**
 * Sends requests in `pieces` writes on one connection that Node's HTTP server reads. Returns the ids of the responses.
 */
async function pipelined(count: number, pieces: number): Promise<readonly number[]> {
  await using hub = await startHub([{ name: 'echo' }]);
  const session = await openSession(`${hub.url}/mcp/echo`);
  const before = hub.activity.lastId;
  const { hostname, port } = new URL(hub.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  let text = '';
  let isOver = false;
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.on('close', () => (isOver = true)).on('error', () => {});
  const requests = Array.from({ length: count }, (_, id) => {
    const params = { name: id === 0 ? 'slow' : 'echo', arguments: { ms: 100, text: 'hello' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
    return [
      'POST /mcp/echo HTTP/1.1',
      'host: localhost',
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      `mcp-session-id: ${session.id}`,
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
  });
  const each = Math.ceil(count / pieces);
  for (let at = 0; at < count; at += each)
    await new Promise<void>(resolve =>
      socket.write(requests.slice(at, at + each).join(''), () => resolve()),
    );
  await until(
    () => isOver || ids(text).length === count,
    () => `${ids(text).length} answers`,
  );
  const answered = ids(text);
  assert.equal(hub.activity.lastId - before, answered.length, 'calls made and answered');
  socket.destroy();
  return answered;
}

const inOrder = (count: number) => Array.from({ length: count }, (_, id) => id);

for (const [count, pieces] of [
  [66, 1],
  [66, 3],
  [1_000, 7],
] as const)
  test(`${count} pipelined calls in ${pieces} pieces are all answered, in order`, async () => {
    assert.deepEqual(await pipelined(count, pieces), inOrder(count));
  });
