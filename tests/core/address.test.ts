import assert from 'node:assert/strict';
import { test } from 'vitest';
import { addressOf, withoutSecrets } from '#core';

test.for([
  ['127.0.0.1', false, 'http://localhost:9090'],
  ['localhost', false, 'http://localhost:9090'],
  ['::1', true, 'https://localhost:9090'],
  ['0.0.0.0', false, 'http://localhost:9090'],
  ['::', false, 'http://localhost:9090'],
  ['127.0.0.2', false, 'http://127.0.0.2:9090'],
  ['192.168.1.5', true, 'https://192.168.1.5:9090'],
  ['fe80::1', false, 'http://[fe80::1]:9090'],
  ['hub.example', true, 'https://hub.example:9090'],
] as const)('the URL of a listener on %s is one for this machine', ([host, isSecure, address]) => {
  assert.equal(addressOf({ host, port: 9090, isSecure }), address);
});

test.each([
  ['https://user:pw@host.test:8443/a/mcp?key=1#x', 'https://host.test:8443/a/mcp'],
  ['http://host.test', 'http://host.test/'],
])('%s is shown without secrets as %s', (url, text) => {
  assert.equal(withoutSecrets(url), text);
});
