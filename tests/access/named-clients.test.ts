import assert from 'node:assert/strict';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { describe, test } from 'vitest';
import { type NamedClients, digestOf } from '#access';
import { HubError } from '#core';
import { openScratchClients, plainClient } from './scratch.ts';

const hex = (token: string) => digestOf(token).toString('hex');
const configToken = 'a-token-in-the-config';

async function make(clients: NamedClients, name: string): Promise<string> {
  const { token } = await clients.create(name);
  assert.ok(token);
  return token;
}

/** Returns the name of the client that a token belongs to, `revoked`, or `unknown`. */
function ownerOf(clients: NamedClients, token: string): string {
  const known = clients.find({ digest: digestOf(token) });
  if (!known) return 'unknown';
  return known.principal ? known.principal.name : 'revoked';
}

const rejects = async (work: Promise<unknown>, code: string, text: RegExp) =>
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof HubError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  });

describe('a token made by the hub', () => {
  test('names its client, also in the next run, and only its digest is kept, for this user', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const token = await make(clients, 'cursor');
    assert.match(token, /^[\w-]{43}$/);
    assert.equal(ownerOf(clients, token), 'cursor');
    assert.ok(!(await scratch.text()).includes(token));
    assert.ok((await scratch.text()).includes(hex(token)));
    assert.equal((await stat(scratch.file)).mode & 0o777, 0o600);
    const next = await scratch.open();
    assert.equal(ownerOf(next, token), 'cursor');
    assert.deepEqual(next.list(), [
      {
        name: 'cursor',
        administer: false,
        source: 'made',
        createdAt: Date.parse('2026-11-23T12:00:00Z'),
        seenAt: Date.parse('2026-11-23T12:00:00Z'),
        calls: 0,
        refused: 0,
      },
    ]);
  });

  test('is refused from the moment it is revoked, also in later runs', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const token = await make(clients, 'cursor');
    const ended: string[] = [];
    clients.ended(({ principal, reason }) => ended.push(`${principal.name}: ${reason}`));
    await clients.revoke('cursor');
    assert.equal(ownerOf(clients, token), 'revoked');
    assert.deepEqual(ended, ['cursor: the client cursor was removed']);
    assert.deepEqual(clients.list(), []);
    assert.equal(ownerOf(await scratch.open(), token), 'revoked');
    await rejects(clients.revoke('cursor'), 'HUB_NAME_UNKNOWN', /no client "cursor" has a token/);
  });

  test('replaces the token of the client made before, which is refused', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const first = await make(clients, 'cursor');
    const ended: string[] = [];
    clients.ended(({ reason }) => ended.push(reason));
    const { token = '', replaced } = await clients.create('cursor');
    assert.equal(replaced, true);
    assert.deepEqual([ownerOf(clients, first), ownerOf(clients, token)], ['revoked', 'cursor']);
    assert.deepEqual(ended, ['the token of cursor was revoked']);
  });

  test('that the caller generated is registered by its digest, once', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const own = 'a-token-that-the-caller-made';
    assert.equal((await clients.create('cursor', hex(own))).token, undefined);
    assert.equal(ownerOf(clients, own), 'cursor');
    const again = clients.create('vscode', hex(own));
    await rejects(again, 'HUB_REQUEST_INVALID', /made before, for cursor/);
    await rejects(clients.revoke('cursor', hex('other')), 'HUB_NAME_UNKNOWN', /another token/);
    await clients.revoke('cursor', hex(own));
    const back = clients.create('cursor', hex(own));
    await rejects(back, 'HUB_REQUEST_INVALID', /made before/);
  });

  test.each(['Owner', 'stdio', 'a:b', '', 'x'.repeat(33)])(
    'is not made for a client named %j',
    async name => {
      await using scratch = await openScratchClients();
      const clients = await scratch.open();
      await rejects(clients.create(name), 'HUB_REQUEST_INVALID', /name of a client|reserved/);
      assert.deepEqual(await readdir(scratch.folder), []);
    },
  );

  test.each(['constructor', '__proto__', 'toString'])(
    'of a client named %s works like that of any other',
    async name => {
      await using scratch = await openScratchClients();
      const clients = await scratch.open();
      if (name.startsWith('_'))
        return await rejects(clients.create(name), 'HUB_REQUEST_INVALID', /name/);
      const token = await make(clients, name);
      assert.equal(ownerOf(await scratch.open(), token), name);
    },
  );

  test('is kept when many are made at once', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const names = Array.from({ length: 20 }, (_, index) => `client-${index}`);
    const made = await Promise.all(names.map(async name => await clients.create(name)));
    const next = await scratch.open();
    for (const { name, token = '' } of made) assert.equal(ownerOf(next, token), name);
  });

  test('is one for each client, however many are made for the client at once', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const made = await Promise.all([clients.create('cursor'), clients.create('cursor')]);
    assert.deepEqual(
      made.map(({ token = '' }) => ownerOf(clients, token)),
      ['revoked', 'cursor'],
    );
  });
});

describe('the file of tokens', () => {
  test.each([
    ['is not JSON', '{"made": {'],
    ['is empty', ''],
    ['holds a list', '[]'],
    ['lacks a part', '{"made": {}, "revoked": []}'],
    [
      'holds half a digest',
      '{"made": {"a": {"sha256": "abc", "created_at": "2026-01-01T00:00:00Z"}}, "configured": {}, "revoked": []}',
    ],
    [
      'holds no time',
      `{"made": {"a": {"sha256": "${'a'.repeat(64)}"}}, "configured": {}, "revoked": []}`,
    ],
  ])(
    'that %s is refused with its path and a remedy, and the known tokens stay valid',
    async (_, text) => {
      await using scratch = await openScratchClients();
      const clients = await scratch.open();
      const token = await make(clients, 'cursor');
      await writeFile(scratch.file, text);
      const says = new RegExp(`${scratch.file}.*Restore it.*agenthub token create`);
      await rejects(clients.create('vscode'), 'HUB_CONFIG_INVALID', says);
      await rejects(clients.revoke('cursor'), 'HUB_CONFIG_INVALID', says);
      assert.equal(ownerOf(clients, token), 'cursor');
      assert.equal(await scratch.text(), text);
      await rejects(scratch.open(), 'HUB_CONFIG_INVALID', says);
      await clients.refresh();
      assert.ok(
        scratch.logged.some(({ message }) => /tokens of clients cannot be kept/.test(message)),
      );
      assert.equal(ownerOf(clients, token), 'cursor');
    },
  );

  test('is not written by a hub without clients', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    assert.deepEqual(await readdir(scratch.folder), []);
    assert.equal(ownerOf(clients, 'anything'), 'unknown');
  });

  test('that was deleted loses its tokens at the next change', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const token = await make(clients, 'cursor');
    await rm(scratch.file);
    await make(clients, 'vscode');
    assert.equal(ownerOf(clients, token), 'unknown');
  });

  test('that cannot be written changes no token', async () => {
    await using scratch = await openScratchClients();
    const clients = await scratch.open();
    const token = await make(clients, 'cursor');
    await rm(scratch.folder, { recursive: true });
    await rejects(clients.create('cursor'), 'HUB_CONFIG_UNWRITABLE', /no token was changed/);
    assert.equal(ownerOf(clients, token), 'cursor');
  });
});

describe('a client of the config', () => {
  const inConfig = { clients: [plainClient('cursor', { tokenDigest: hex(configToken) })] };

  test('has its token, which cannot be made or revoked elsewhere', async () => {
    await using scratch = await openScratchClients(inConfig);
    const clients = await scratch.open();
    assert.equal(ownerOf(clients, configToken), 'cursor');
    const says = /^clients\.cursor\.token: the config has the token/;
    await rejects(clients.create('cursor'), 'HUB_CONFIG_CONFLICT', says);
    await rejects(clients.revoke('cursor'), 'HUB_CONFIG_CONFLICT', says);
  });

  test.each([
    ['while the hub runs', true],
    ['while it does not', false],
  ])('whose token was removed from the config %s is refused', async (_, isRunning) => {
    await using scratch = await openScratchClients(inConfig);
    let clients = await scratch.open();
    scratch.set({});
    if (isRunning) {
      const refreshed = clients.refresh();
      assert.equal(ownerOf(clients, configToken), 'revoked', 'at once');
      await refreshed;
    }
    if (!isRunning) clients = await scratch.open();
    assert.equal(ownerOf(clients, configToken), 'revoked');
    scratch.set(inConfig);
    await clients.refresh();
    assert.equal(ownerOf(clients, configToken), 'cursor', 'it is back');
    assert.equal(ownerOf(await scratch.open(), configToken), 'cursor');
  });

  test('gets the token that was made for it while the config has none', async () => {
    await using scratch = await openScratchClients({ clients: [plainClient('cursor')] });
    const clients = await scratch.open();
    assert.deepEqual(clients.list()[0]?.source, undefined);
    const token = await make(clients, 'cursor');
    assert.equal(ownerOf(clients, token), 'cursor');
    scratch.set(inConfig);
    await clients.refresh();
    assert.deepEqual(
      [token, configToken].map(one => ownerOf(clients, one)),
      ['revoked', 'cursor'],
    );
    scratch.set({});
    await clients.refresh();
    assert.equal(ownerOf(clients, token), 'cursor');
  });

  test('keeps its principal over a reload, and gets a new one when its grants change', async () => {
    await using scratch = await openScratchClients(inConfig);
    const clients = await scratch.open();
    const before = clients.principalOf('cursor');
    await clients.refresh();
    assert.equal(clients.principalOf('cursor'), before);
    const granted: boolean[] = [];
    clients.regranted(({ grants }) => granted.push(grants.administer));
    const administer = { tokenDigest: hex(configToken), administer: true };
    scratch.set({ clients: [plainClient('cursor', administer)] });
    await clients.refresh();
    assert.deepEqual(clients.principalOf('cursor')?.grants, { administer: true });
    assert.ok(granted.length > 0 && granted.every(Boolean));
  });

  test('administers nothing where administration is off', async () => {
    await using scratch = await openScratchClients({
      clients: [plainClient('cursor', { administer: true })],
    });
    const clients = await scratch.open('off');
    assert.deepEqual(clients.principalOf('cursor')?.grants, { administer: false });
  });
});

test('connections without a token end when a reload makes tokens required, and not otherwise', async () => {
  await using scratch = await openScratchClients({ tokens: 'required' });
  const clients = await scratch.open();
  const ended: string[] = [];
  clients.ended(({ principal, reason }) => ended.push(`${principal.name}: ${reason}`));
  await clients.refresh();
  scratch.set({ tokens: 'optional' });
  await clients.refresh();
  assert.deepEqual(ended, []);
  scratch.set({ tokens: 'required' });
  await clients.refresh();
  assert.deepEqual(ended, ['local: calls need a token from now on']);
});

test('calls and refusals are counted for their client only', async () => {
  await using scratch = await openScratchClients();
  const clients = await scratch.open();
  const token = await make(clients, 'cursor');
  const cursor = clients.principalOf('cursor') ?? assert.fail();
  scratch.pass(1_000);
  clients.find({ digest: digestOf(token) });
  const admittedAt = Date.parse('2026-11-23T12:00:01Z');
  assert.equal(clients.list()[0]?.seenAt, admittedAt);
  const [firstAt, secondAt, otherAt] = [admittedAt + 1_000, admittedAt + 2_000, admittedAt + 3_000];
  clients.record(cursor, false, firstAt);
  clients.record(cursor, true, secondAt);
  clients.record({ ...cursor, kind: 'local' }, false, otherAt);
  clients.record({ ...cursor, name: 'another' }, false, otherAt);
  const [{ calls, refused, seenAt } = assert.fail()] = clients.list();
  assert.deepEqual([calls, refused, seenAt], [1, 1, secondAt]);
});
