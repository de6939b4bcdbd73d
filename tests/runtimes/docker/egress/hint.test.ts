import assert from 'node:assert/strict';
import { test } from 'vitest';
import { withProxyHint } from '../../../../hub/runtimes/docker/egress/hint.ts';
import { specOf } from '../hub.ts';

test.each([
  'Error: getaddrinfo EAI_AGAIN api.github.com',
  'connect ENETUNREACH 203.0.113.1:443 - Local (0.0.0.0:0)',
  'socket.gaierror: [Errno -3] Temporary failure in name resolution',
  'OSError: [Errno 101] Network is unreachable',
  'fatal: Could not resolve host: github.com',
])('a server is told once that a library ignores the proxy, by: %s', line => {
  const lines: string[] = [];
  const stderr = withProxyHint(specOf('fetcher', {}), text => lines.push(text));
  stderr('listening');
  stderr(line);
  stderr(line);
  assert.equal(lines.length, 4);
  assert.match(lines[2] ?? '', /^AgentHub: fetcher reaches the network through a proxy.*"network"/);
});
