import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isLocalRedirect, isRegistered } from '../../../hub/access/authorization/redirects.ts';

describe('a redirect address', () => {
  test.each([
    'http://127.0.0.1/callback',
    'http://127.0.0.1:33418/',
    'http://localhost:8787/callback?a=b',
    'http://[::1]:1/callback',
    'http://127.9.8.7:80/',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ])('of this machine is accepted: %s', address => {
    assert.equal(isLocalRedirect(address), true);
  });

  test.each([
    'https://vscode.dev/redirect',
    'http://evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://localhost.evil.example/',
    'http://evil.example/?http://127.0.0.1/',
    'http://localhost@evil.example/',
    'http://user:secret@localhost/',
    'http://localhost/#token',
    'http://localhost/#',
    'http://10.0.0.1/',
    'http://0.0.0.0/',
    'javascript:alert(1)//127.0.0.1',
    'data:text/html,hello',
    'file:///etc/passwd',
    'vscode://evil.extension/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback/../other',
    'http://localhost/\n',
    ' http://localhost/',
    `http://localhost/${'a'.repeat(300)}`,
    '',
  ])('of another host or scheme is refused: %j', address => {
    assert.equal(isLocalRedirect(address), false);
  });

  test.each([
    ['http://127.0.0.1:1/callback', true],
    ['http://127.0.0.1:65535/callback', true],
    ['http://127.0.0.1/callback', true],
    ['http://localhost:1/callback', false],
    ['http://127.0.0.1:1/callback/', false],
    ['http://127.0.0.1:1/callback?a=b', false],
    ['http://127.0.0.1:1/other', false],
    ['http://127.0.0.1:1/callback#a', false],
    ['cursor://anysphere.cursor-mcp/oauth/callback', false],
  ])('that is registered may differ in its port only: %s %s', (address, expected) => {
    assert.equal(isRegistered(address, ['http://127.0.0.1:9/callback']), expected);
  });
});
