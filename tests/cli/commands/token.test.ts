import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { clientTokensFile, digestOf } from '#access';
import { type Config, readSettings } from '#config';
import { systemClock } from '#core';
import { startHub } from '#helpers/hub';
import { openStoredClients } from '../../../hub/app/wire-clients.ts';
import { openScratchClients, plainClient } from '../../access/scratch.ts';
import { send } from '../../transports/raw.ts';
import { type FlatNeeds, run } from '../run.ts';

const config: Config = { servers: [], naming: { separator: '_', maxLength: 46 } };

/** Starts a hub with these clients, and returns a command line that administers it. */
async function open(configured: Parameters<typeof openScratchClients>[0] = {}) {
  const scratch = await openScratchClients(configured);
  const clients = await scratch.open();
  const hub = await startHub([{ name: 'echo' }], { guard: { clients } });
  const needs: FlatNeeds = { findHub: async () => hub.place };
  return {
    hub,
    clients,
    run: async (...args: readonly string[]) => await run(['token', ...args], needs),
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

const audit = { hubVersion: '1.2.3', warn: assert.fail };

/** Returns the dependencies of commands for a data folder whose hub does not run. */
const withoutHub = (folder: string, configured: Partial<Config> = {}): FlatNeeds => ({
  // Nothing listens at the discard port.
  findHub: async () => ({ url: 'http://127.0.0.1:9', token: undefined }),
  openTokens: async () =>
    await openStoredClients(
      { ...config, ...configured },
      { settings: readSettings({ DATA_DIR: folder }), clock: systemClock, audit },
    ),
});

describe('agenthub token', () => {
  test('create prints only the token, which the hub admits at once; revoke ends it', async () => {
    await using opened = await open();
    const { code, out: token, err } = await opened.run('create', 'cursor');
    assert.equal(code, 0, err);
    assert.match(token, /^[\w-]{43}$/);
    assert.match(err, /^note: this token of cursor is shown only now/);
    assert.ok(!err.includes(token));
    assert.equal(opened.clients.find({ digest: digestOf(token) })?.principal?.name, 'cursor');
    const again = await opened.run('create', 'cursor', '--json');
    const { token: next, ...rest } = JSON.parse(again.out);
    assert.deepEqual(rest, { name: 'cursor', replaced: true });
    assert.equal(opened.clients.find({ digest: digestOf(token) })?.principal, undefined);
    const revoked = await opened.run('revoke', 'cursor');
    assert.equal(revoked.out, 'The token of cursor is revoked.');
    const headers = { authorization: `Bearer ${next}` };
    assert.equal((await send(`${opened.hub.url}/servers`, { headers })).status, 401);
    const { code: failed, err: why } = await opened.run('revoke', 'cursor');
    assert.deepEqual([failed, why], [1, 'no client "cursor" has a token']);
  });

  test('list shows the clients with a token and their use, and no tokens', async () => {
    await using opened = await open({
      tokens: 'required',
      clients: [
        plainClient('fixed', { tokenDigest: digestOf('a-token-in-the-config').toString('hex') }),
        plainClient('admin', { administer: true }),
      ],
    });
    const { out: token } = await opened.run('create', 'cursor');
    const login = { client: 'a'.repeat(64), expiresAt: Date.parse('2027-02-21T12:00:00Z') };
    await opened.clients.create('claude-code', 'b'.repeat(64), login);
    const { out } = await opened.run('list');
    const lines = out.split('\n').map(line => line.trim().split(/ {2,}/));
    assert.deepEqual(lines[0], ['NAME', 'TOKEN', 'AGE', 'LAST SEEN', 'CALLS', 'REFUSED', 'MAY']);
    assert.deepEqual(lines[1], ['fixed', 'in the config', '-', '-', '0', '0', 'call']);
    assert.deepEqual(lines[2], ['admin', 'none', '-', '-', '0', '0', 'administer']);
    assert.equal(lines[3]?.[0], 'cursor');
    assert.equal(lines[3]?.[1], 'made');
    assert.deepEqual(lines[4]?.slice(0, 2), ['claude-code', 'by login, until 2027-02-21']);
    assert.match(out, /Calls need a token \("tokens": "required"\)\.$/);
    assert.ok(!out.includes(token));
    const { err } = await opened.run('create', 'fixed');
    assert.match(err, /^clients\.fixed\.token: the config has the token/);
    const { clients } = JSON.parse((await opened.run('list', '--json')).out);
    assert.equal(clients.length, 4);
    assert.equal(clients[3].expires_at, '2027-02-21T12:00:00.000Z');
  });

  test.each([[[]], [['create']], [['revoke']], [['list', 'cursor']], [['remove', 'cursor']]])(
    '%j is refused with what to write',
    async words => {
      const { code, err } = await run(['token', ...words]);
      assert.equal(code, 2);
      assert.match(err, /token create NAME|<action> is missing/);
    },
  );

  test('changes the data folder if no hub runs, and its tokens are valid in the next run', async () => {
    await using scratch = await openScratchClients();
    const needs = withoutHub(scratch.folder, { clients: [plainClient('vscode')] });
    const { code, out: token, err } = await run(['token', 'create', 'cursor'], needs);
    assert.equal(code, 0, err);
    const { out } = await run(['token', 'list'], needs);
    assert.match(out, /^vscode +none +- +- +- +- +call$/m);
    assert.match(out, /^cursor +made +\d+s +- +- +- +call$/m);
    const next = await scratch.open();
    assert.equal(next.find({ digest: digestOf(token) })?.principal?.name, 'cursor');
    assert.equal((await run(['token', 'revoke', 'cursor'], needs)).code, 0);
    assert.equal((await scratch.open()).find({ digest: digestOf(token) })?.principal, undefined);
    const text = await readFile(join(scratch.folder, clientTokensFile), 'utf8');
    assert.ok(!text.includes(token));
  });

  test('does not change the data folder of another hub that a URL names', async () => {
    await using scratch = await openScratchClients();
    const args = ['token', 'create', 'cursor', '--url', 'http://127.0.0.1:9'];
    const { code, err } = await run(args, withoutHub(scratch.folder));
    assert.equal(code, 1);
    assert.match(err, /no hub answers at http:\/\/127\.0\.0\.1:9/);
  });
});
