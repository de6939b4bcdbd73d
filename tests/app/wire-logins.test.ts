import assert from 'node:assert/strict';
import { test } from 'vitest';
import { redirectOrigin } from '../../hub/app/wire-logins.ts';

test.for([
  ['127.0.0.1', 'http://localhost:9090', 'http://127.0.0.1:9090'],
  ['localhost', 'http://localhost:9090', 'http://127.0.0.1:9090'],
  // In a container, the port is published on 127.0.0.1.
  ['0.0.0.0', 'http://localhost:9090', 'http://127.0.0.1:9090'],
  ['::', 'http://localhost:9090', 'http://127.0.0.1:9090'],
  ['::1', 'http://localhost:9090', 'http://[::1]:9090'],
  ['192.168.1.5', 'http://192.168.1.5:80', 'http://192.168.1.5:80'],
  // The certificate contains the name of the host.
  ['127.0.0.1', 'https://localhost:9090', 'https://localhost:9090'],
  ['localhost.example', 'http://localhost.example:1', 'http://localhost.example:1'],
] as const)(
  'the login of a hub on %s at %s is redirected to the origin %s',
  ([host, url, origin]) => {
    assert.equal(redirectOrigin(host, url), origin);
  },
);
