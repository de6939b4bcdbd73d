import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'vitest';

const proxy = pathToFileURL(join(import.meta.dirname, '../../images/egress/proxy.mjs')).href;

/** Source of a program: a forwarder whose day lasts 100 ms, a silent target, and a client that sends `request`. */
const script = (request: string, expected: readonly string[]) => `
  import { once } from 'node:events';
  import { connect, createServer } from 'node:net';
  const dayMs = 24 * 60 * 60_000;
  const { setTimeout: later } = globalThis;
  globalThis.setTimeout = (work, ms, ...rest) => later(work, ms === dayMs ? 100 : ms, ...rest);
  const { createProxy } = await import(${JSON.stringify(proxy)});
  const expected = ${JSON.stringify(expected)};
  const ended = [];
  const { promise: allEnded, resolve } = Promise.withResolvers();
  const end = name => {
    ended.push(name);
    if (ended.length === expected.length) resolve();
  };
  const silent = createServer(socket => socket.on('error', () => {}).on('close', () => end('target')).resume());
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const outside = {
    async open(server, host, port, onread) {
      const target = connect({ port: silent.address().port, host: '127.0.0.1', ...(onread && { onread }) });
      await once(target, 'connect');
      return target;
    },
  };
  const server = { name: 'files', allow: [] };
  const { http } = createProxy({
    findServer: () => server, countServers: () => 1, outside, reports: { blocked() {} },
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const client = connect(http.address().port, '127.0.0.1', () => client.write(${JSON.stringify(request)}));
  client.on('error', () => {}).on('close', () => end('client')).resume();
  await allEnded;
  console.log(JSON.stringify(ended.sort()));
  process.exit(0);
`;

test.each([
  ['a tunnel', 'CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
  [
    'a plain request',
    'GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n',
  ],
  ['a connection without a request', ''],
])('%s ends after 24 hours, with its target', (name, request) => {
  const expected = request === '' ? ['client'] : ['client', 'target'];
  const words = ['--input-type=module', '--eval', script(request, expected)];
  const output = execFileSync(process.execPath, words, { encoding: 'utf8', timeout: 20_000 });
  assert.deepEqual(JSON.parse(output), expected, name);
});
