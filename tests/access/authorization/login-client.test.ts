import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  createClientIds,
  readRegistration,
} from '../../../hub/access/authorization/login-client.ts';

const ids = createClientIds(Buffer.alloc(32, 1));
const client = {
  name: 'Claude Code',
  issuer: 'http://localhost:9090',
  redirects: ['http://localhost/callback'],
};

describe('the id of a program', () => {
  test('contains its registration, also for a later run of the hub', () => {
    const id = ids.make(client);
    assert.match(id, /^[\w.-]+$/);
    assert.deepEqual(createClientIds(Buffer.alloc(32, 1)).read(id), client);
  });

  const [text = '', signature = ''] = ids.make(client).split('.');
  const forged = Buffer.from(
    JSON.stringify(['Claude Code', 'http://localhost:9090', 'http://evil.example/']),
  ).toString('base64url');
  test.each([
    ['empty', ''],
    ['without a signature', text],
    ['with a short signature', `${text}.${signature.slice(1)}`],
    ['with another text', `${forged}.${signature}`],
    ['with a third part', `${text}.${signature}.`],
    ['of another hub', createClientIds(Buffer.alloc(32, 2)).make(client)],
    ['that is too long', `${'a'.repeat(5_000)}.${signature}`],
  ])('%s is unknown', (_, id) => {
    assert.equal(ids.read(id), undefined);
  });
});

describe('a registration', () => {
  test('contains only redirect URIs of this machine, and drops those of web services', () => {
    const body = {
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
        'http://localhost:8787/callback',
      ],
    };
    assert.deepEqual(readRegistration(body), {
      name: 'Cursor',
      redirects: ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost:8787/callback'],
    });
  });

  test.each([
    [undefined],
    ['text'],
    [{}],
    [{ redirect_uris: 'http://localhost/' }],
    [{ redirect_uris: [1, 'https://vscode.dev/redirect'] }],
  ])('without a redirect URI of this machine is refused: %j', body => {
    const read = readRegistration(body);
    assert.ok('error' in read);
    assert.equal(read.error, 'invalid_redirect_uri');
  });

  test('has a name without invisible characters, and a bounded size', () => {
    const read = readRegistration({
      client_name: `\u202e Claude\u200b\n${'x'.repeat(10_000)}`,
      redirect_uris: Array.from({ length: 1_000 }, (_, at) => `http://localhost/${at}`),
    });
    assert.ok('name' in read);
    assert.match(read.name, /^Claudex+$/);
    assert.equal(read.name.length, 80);
    assert.equal(read.redirects.length, 5);
    assert.ok(ids.make({ ...read, issuer: 'http://localhost:9090' }).length < 4_096);
  });
});
