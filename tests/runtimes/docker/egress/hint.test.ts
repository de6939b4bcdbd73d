import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  createNoNetworkHint,
  createProxyHint,
} from '../../../../hub/runtimes/docker/egress/hint.ts';
import { specOf } from '../hub.ts';

test.each([
  'Error: getaddrinfo EAI_AGAIN api.github.com',
  'connect ENETUNREACH 203.0.113.1:443 - Local (0.0.0.0:0)',
  'socket.gaierror: [Errno -3] Temporary failure in name resolution',
  'OSError: [Errno 101] Network is unreachable',
  'fatal: Could not resolve host: github.com',
])('a library that ignores the proxy is logged once for a server, by: %s', line => {
  const lines: string[] = [];
  const { stderr } = createProxyHint(specOf('fetcher', {}), {
    stderr: text => void lines.push(text),
  });
  stderr('listening');
  stderr(line);
  stderr(line);
  assert.equal(lines.length, 4);
  assert.match(lines[2] ?? '', /^AgentHub: fetcher reaches the network through a proxy.*"network"/);
});

test('an error that is only in the response to the client causes the hint, but a long result does not', () => {
  const lines: string[] = [];
  const { stderr, stdout } = createProxyHint(specOf('fetcher', {}), {
    stderr: text => void lines.push(text),
  });
  const error = '{"result":{"isError":true,"content":[{"text":"getaddrinfo EAI_AGAIN x.test"}]}}';
  stdout(Buffer.from(`${error}${' '.repeat(5000)}`));
  assert.deepEqual(lines, []);
  stdout(Buffer.from(error));
  stderr('getaddrinfo EAI_AGAIN x.test');
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /seems to ignore/);
});

test.each([
  'TypeError: fetch failed',
  'getaddrinfo ENOTFOUND api.test',
  'urllib3 NameResolutionError',
])('a server without a network causes one hint to the operator, by: %s', line => {
  const lines: string[] = [];
  const advice: string[] = [];
  const { stderr, stdout } = createNoNetworkHint(specOf('fetcher', {}), {
    stderr: text => void lines.push(text),
    advice: text => void advice.push(text),
  });
  stdout(Buffer.from(JSON.stringify({ result: { isError: true, content: [{ text: line }] } })));
  stderr(line);
  assert.equal(advice.length, 1);
  assert.match(advice[0] ?? '', /its entry grants no network.*"network": \{"allow"/);
  assert.deepEqual(lines, [`AgentHub: ${advice[0]}`, line]);
});

test('a program of the hub causes no hint, as it uses models through the hub and quotes their errors', () => {
  const lines: string[] = [];
  const { stderr, stdout } = createNoNetworkHint(
    specOf('ollama', { image: { context: 'ollama-mcp' } }),
    { stderr: text => void lines.push(text), advice: () => assert.fail() },
  );
  stdout(Buffer.from('{"result":{"isError":true,"content":[{"text":"fetch failed"}]}}'));
  stderr('fetch failed');
  assert.deepEqual(lines, ['fetch failed']);
});
