import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createOwnHosts, hostOfTarget } from '../../hub/http/origins.ts';

const has = (host: string, asked: string, allowedHosts: readonly string[] = []) =>
  createOwnHosts({ host, allowedHosts })(asked);

test.each([
  ['127.0.0.1', 'localhost'],
  ['127.0.0.1', 'LocalHost:9090'],
  ['127.0.0.1', '[::1]:9090'],
  ['127.0.0.1', '127.1.2.3'],
  ['192.168.1.5', '192.168.1.5:9090'],
  ['Hub.Local', 'hub.local'],
  ['fe80:0:0:0:0:0:0:1%eth0', '[fe80::1]:80'],
])('a hub at %s accepts the host %s', (host, asked) => assert.ok(has(host, asked)));

test.each([
  ['127.0.0.1', 'evil.example'],
  ['127.0.0.1', '127.evil.example'],
  ['0.0.0.0', '0.0.0.0:9090'],
  ['::', '[::]'],
  ['192.168.1.5', '192.168.1.6'],
])('a hub at %s refuses the host %s', (host, asked) => assert.ok(!has(host, asked)));

test('an allowed host is accepted in any case, also after another was refused', () => {
  const isOwn = createOwnHosts({ host: '0.0.0.0', allowedHosts: ['Hub.Example'] });
  assert.ok(isOwn('hub.example:443'));
  assert.ok(!isOwn('evil.example'));
  assert.ok(isOwn('hub.example:443'));
});

test.each([
  ['/mcp', undefined],
  ['//evil.example/mcp', undefined],
  ['*', undefined],
  ['http://localhost:9090/mcp', 'localhost:9090'],
  ['HTTPS://Hub.Example/', 'hub.example'],
  ['http://[', ''],
])('the host of the target %s is %s', (target, expected) => {
  assert.equal(hostOfTarget(target), expected);
});
