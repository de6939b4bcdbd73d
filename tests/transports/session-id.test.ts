import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Principal } from '#policy';
import { type SessionIdsOptions, createSessionIds } from '#transports';

const local: Principal = { kind: 'local', name: 'local', grants: { administer: false } };
const token: Principal = { kind: 'local', name: 'token', grants: { administer: false } };
const options: SessionIdsOptions = {
  secret: Buffer.alloc(32, 1),
  hubId: 'h'.repeat(16),
  credentialOf: ({ name }) => (name === 'token' ? 'first' : undefined),
};
const ids = createSessionIds(options);
const session = {
  client: {
    clientInfo: '{"name":"Café","version":"1"}',
    capabilities: '{"roots":{"listChanged":true},"sampling":{}}',
  },
  protocolVersion: '2025-11-25',
  openedAt: 1_750_000_000_000,
};
const onAll = { server: undefined, principal: local };

const sealed = (binding = onAll, of = session): string =>
  ids.seal(binding, of) ?? assert.fail('the id is too long');

test('an id tells the next run what the session was opened with', () => {
  const id = sealed();
  assert.match(id, /^h{16}\.[\w-]{100,400}$/);
  assert.deepEqual(createSessionIds(options).open(id, onAll), session);
  assert.notEqual(sealed(), id, 'no two sessions have the same id');
});

test('an id is undefined if the client information is too large', () => {
  const clientInfo = JSON.stringify({ name: 'x'.repeat(1_000), version: '1' });
  const client = { ...session.client, clientInfo };
  assert.equal(ids.seal(onAll, { ...session, client }), undefined);
});

describe('an id is not valid', () => {
  const id = sealed();
  const body = id.slice(17);
  const flipped = (at: number) => {
    const bytes = Buffer.from(body, 'base64url');
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return `${options.hubId}.${bytes.toString('base64url')}`;
  };
  const forged = {
    'with another nonce': flipped(0),
    'with another text': flipped(12),
    'with another tag': flipped(Buffer.from(body, 'base64url').length - 1),
    'that was cut off': id.slice(0, -4),
    'of which only the hub is left': `${options.hubId}.`,
    'with something behind it': `${id}AAAA`,
    'with a character that base64url ignores': `${id}=`,
    'of another hub': `${'o'.repeat(16)}.${body}`,
    'that is too long': `${options.hubId}.${body.repeat(10)}`,
    'that is a UUID': '8c1f6c5e-9f3e-4a53-9a63-0c9b7f3f6a11',
    'that is empty': '',
  };
  for (const [what, text] of Object.entries(forged))
    test(what, () => assert.equal(ids.open(text, onAll), undefined));

  test('at another endpoint', () => {
    assert.equal(ids.open(id, { ...onAll, server: 'echo' }), undefined);
    const ofServer = ids.seal({ server: 'echo', principal: local }, session) ?? '';
    assert.equal(ids.open(ofServer, { server: 'other', principal: local }), undefined);
    assert.equal(ids.open(ofServer, onAll), undefined);
  });

  test('for another principal', () => {
    assert.equal(ids.open(id, { ...onAll, principal: token }), undefined);
    assert.equal(ids.open(id, { ...onAll, principal: { ...local, kind: 'agent' } }), undefined);
  });

  test('with another credential of the same principal', () => {
    const bound = { server: undefined, principal: token };
    const ofToken = sealed(bound);
    assert.deepEqual(ids.open(ofToken, bound), session);
    const rotated = createSessionIds({ ...options, credentialOf: () => 'second' });
    assert.equal(rotated.open(ofToken, bound), undefined);
  });

  test('with the key of another data folder', () => {
    const other = createSessionIds({ ...options, secret: Buffer.alloc(32, 2) });
    assert.equal(other.open(id, onAll), undefined);
  });
});
