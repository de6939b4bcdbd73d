import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isOfHub, readLoginRequest } from '../../../hub/access/authorization/requests.ts';

const client = {
  name: 'Claude Code',
  issuer: 'http://127.0.0.1:9090',
  redirects: ['http://localhost/callback'],
};
const whole = {
  client_id: 'known',
  redirect_uri: 'http://localhost:1234/callback',
  response_type: 'code',
  state: 'a state',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  resource: 'http://127.0.0.1:9090/mcp',
};
const read = (changes: Readonly<Record<string, string>>, more = '') =>
  readLoginRequest(
    new URLSearchParams(`${new URLSearchParams({ ...whole, ...changes }).toString()}${more}`),
    id => (id === 'known' ? client : undefined),
  );

describe('an authorization request', () => {
  test('is parsed', () => {
    assert.deepEqual(read({}), {
      kind: 'asked',
      request: {
        clientId: 'known',
        client,
        redirect: whole.redirect_uri,
        state: 'a state',
        challenge: whole.code_challenge,
      },
    });
  });

  test.each([
    ['of an unknown program', { client_id: 'other' }, ''],
    ['to another host', { redirect_uri: 'http://evil.example/callback' }, ''],
    ['to another path', { redirect_uri: 'http://localhost:1/other' }, ''],
    ['to a script', { redirect_uri: 'javascript:alert(1)' }, ''],
    ['with two redirects', {}, '&redirect_uri=http%3A%2F%2Flocalhost%2Fcallback'],
    ['with two clients', {}, '&client_id=known'],
    ['with an endless state', { state: 'x'.repeat(3_000) }, ''],
  ])('%s is refused without a redirect to its redirect URI', (_, changes, more) => {
    assert.equal(read(changes, more).kind, 'invalid');
  });

  test.each([
    ['without PKCE', { code_challenge: '' }, 'invalid_request'],
    ['with a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['with a short challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['for a token in the address', { response_type: 'token' }, 'unsupported_response_type'],
    ['for another server', { resource: 'http://other.example/mcp' }, 'invalid_target'],
  ])('%s is refused by a redirect with the error and the issuer', (_, changes, error) => {
    const answer = read(changes);
    assert.ok(answer.kind === 'refused');
    const url = new URL(answer.redirect);
    assert.equal(`${url.origin}${url.pathname}`, whole.redirect_uri);
    assert.deepEqual(
      ['error', 'state', 'iss'].map(name => url.searchParams.get(name)),
      [error, 'a state', client.issuer],
    );
  });

  test.each([
    ['http://127.0.0.1:9090', true],
    ['http://127.0.0.1:9090/', true],
    ['http://127.0.0.1:9090/mcp/echo', true],
    ['https://localhost:9090/sse', true],
    ['http://127.0.0.1:9091/mcp', false],
    ['http://127.0.0.1:9090/servers', false],
    ['http://127.0.0.1:9090/mcp#a', false],
    ['http://a@127.0.0.1:9090/mcp', false],
    ['http://hub.home.lan:9090/mcp', false],
    ['mcp', false],
  ])('for the resource %s is for this hub: %s', (resource, expected) => {
    assert.equal(isOfHub(resource, client.issuer), expected);
  });
});
