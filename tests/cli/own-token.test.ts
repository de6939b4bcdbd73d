import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { digestOf } from '#access';
import { type Config, readSettings } from '#config';
import { systemClock } from '#core';
import { type HubOptions, startHub } from '#helpers/hub';
import { openStoredClients } from '../../hub/app/wire-clients.ts';
import { openScratchClients, plainClient } from '../access/scratch.ts';
import { hub as address, openScratch } from '../clients/machine.ts';
import { type FlatNeeds, run } from './run.ts';

const files = {
  cursor: '.cursor/mcp.json',
  'claude-code': '.claude.json',
  'claude-desktop': '.config/Claude/claude_desktop_config.json',
  codex: '.codex/config.toml',
} as const;

/** Starts a hub with clients, and returns a command line for it over the files of a scratch machine. */
async function open(
  configured: Parameters<typeof openScratchClients>[0] = { tokens: 'required' },
  guard: HubOptions['guard'] = {},
) {
  const scratch = await openScratchClients(configured);
  const machine = await openScratch();
  const clients = await scratch.open();
  const hub = await startHub([{ name: 'echo' }], { guard: { ...guard, clients } });
  const needs: FlatNeeds = {
    openClients: async () => machine.clients,
    findBridge: async () => address.bridge,
    findHub: async () => hub.place,
    findConfigFile: async () => join(machine.home, 'hub.json'),
    findDotenv: async () => join(machine.home, '.env'),
  };
  return {
    clients,
    needs,
    home: machine.home,
    put: async (path: string, text: string) => await machine.put(path, text),
    textOf: async (file: string) => await readFile(join(machine.home, file), 'utf8'),
    run: async (...args: readonly string[]) => await run([...args, '--yes'], needs),
    /** Returns the owner of each token in a text: a client's name, `revoked` or `unknown`. */
    owners(text: string): readonly string[] {
      return Array.from(text.matchAll(/[\w-]{43}/g), ([token]) => {
        const known = clients.find({ digest: digestOf(token) });
        return known?.principal?.name ?? (known ? 'revoked' : 'unknown');
      });
    },
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await machine[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

describe('where tokens are required, connect', () => {
  test.each(Object.entries(files))(
    'writes a token of its own for %s, shows it nowhere, and disconnect revokes it',
    async (client, file) => {
      await using opened = await open();
      const { code, out, err } = await opened.run('connect', client);
      assert.equal(code, 0, err);
      const text = await opened.textOf(file);
      assert.deepEqual(opened.owners(text), [client]);
      const [[token] = assert.fail()] = [...text.matchAll(/[\w-]{43}/g)];
      assert.ok(!`${out}${err}`.includes(token));
      assert.match(err, new RegExp(`the token of ${client} is in that file now`));
      assert.equal(/With --login/.test(err), client !== 'claude-desktop');
      const again = await opened.run('connect', client);
      assert.match(again.out, /already has the hub/, again.err);
      assert.equal(await opened.textOf(file), text);
      const gone = await opened.run('disconnect', client);
      assert.equal(gone.code, 0, gone.err);
      assert.match(gone.out, new RegExp(`The token of ${client} is revoked\\.`));
      assert.deepEqual(opened.owners(text), ['revoked']);
    },
  );

  test('gives the file of a workspace another client name, so that both tokens work', async () => {
    await using opened = await open();
    await opened.run('connect', 'cursor');
    assert.equal((await opened.run('connect', 'cursor', '--workspace')).code, 0);
    const names = opened.clients.list().map(({ name }) => name);
    assert.deepEqual(names, ['cursor', 'cursor-work']);
  });

  test('uses one token for all entries of a file, until the last entry is removed', async () => {
    await using opened = await open();
    await opened.run('connect', 'cursor');
    await opened.run('connect', 'cursor', '--server', 'echo', '--name', 'echo');
    assert.deepEqual(opened.owners(await opened.textOf(files.cursor)), ['cursor', 'cursor']);
    await opened.run('disconnect', 'cursor', '--name', 'echo');
    assert.deepEqual(opened.owners(await opened.textOf(files.cursor)), ['cursor']);
  });

  test('replaces the token of a client whose file has none, and says so first', async () => {
    await using opened = await open();
    await opened.clients.create('cursor');
    const dry = await run(['connect', 'cursor', '--dry-run'], opened.needs);
    assert.match(
      dry.err,
      /warning: the hub knows a client cursor already\. This replaces its token/,
    );
    const before = opened.clients.digestOf('cursor');
    assert.equal((await opened.run('connect', 'cursor')).code, 0);
    assert.notEqual(opened.clients.digestOf('cursor'), before);
  });

  test('of all clients says if the token of one is replaced', async () => {
    await using opened = await open();
    await opened.run('connect', 'cursor', '--file', join(opened.home, 'profile.json'));
    await mkdir(join(opened.home, '.cursor'));
    const { err } = await run(['connect', '--all', '--dry-run'], opened.needs);
    assert.match(err, /warning: the hub knows a client cursor already\. This replaces its token/);
  });

  test('makes no token for a client whose token is in the config', async () => {
    const tokenDigest = digestOf('a-token-in-the-config').toString('hex');
    await using opened = await open({
      tokens: 'required',
      clients: [plainClient('cursor', { tokenDigest })],
    });
    const { code, err } = await opened.run('connect', 'cursor');
    assert.equal(code, 1);
    assert.match(err, /^clients\.cursor\.token: the config has the token of this client/);
  });
});

describe('where tokens are required, import --connect', () => {
  const echo = { url: 'http://127.0.0.1:9/mcp' };

  /**
   * Creates a Cursor config with a server that the hub has too. The hub knows a token of Cursor that is in another
   * file.
   */
  async function openImport(entries: Readonly<Record<string, unknown>> = {}) {
    const opened = await open();
    await opened.put('hub.json', JSON.stringify({ servers: { echo } }));
    await opened.put(files.cursor, JSON.stringify({ mcpServers: { echo, ...entries } }));
    await opened.run('connect', 'cursor', '--file', join(opened.home, 'profile.json'));
    return opened;
  }

  test('says that it replaces the token of a client, before it asks', async () => {
    await using opened = await openImport();
    const words = ['import', 'cursor', '--connect'];
    const dry = await run([...words, '--dry-run'], opened.needs);
    assert.match(
      dry.err,
      /warning: the hub knows a client cursor already\. This replaces its token/,
    );
    const before = opened.clients.digestOf('cursor');
    const { code, err } = await opened.run(...words);
    assert.equal(code, 0, err);
    assert.equal(err.match(/This replaces its token/g)?.length, 1);
    assert.notEqual(opened.clients.digestOf('cursor'), before);
    assert.deepEqual(opened.owners(await opened.textOf(files.cursor)), ['cursor']);
    const removed = await run(['import', 'cursor', '--remove', '--dry-run'], opened.needs);
    assert.doesNotMatch(removed.err, /warning/);
  });

  test('keeps the token of a client whose file already has the hub', async () => {
    await using opened = await openImport({ agenthub: { url: 'http://localhost:9090/mcp' } });
    const before = opened.clients.digestOf('cursor');
    const { code, out, err } = await opened.run('import', 'cursor', '--connect');
    assert.equal(code, 0, err);
    assert.match(out, /Connected to the hub: cursor/);
    assert.doesNotMatch(err, /warning/);
    assert.doesNotMatch(await opened.textOf(files.cursor), /echo/);
    assert.equal(opened.clients.digestOf('cursor'), before);
  });
});

test('if containers can reach the hub, a client gets its own token instead of the shared one', async () => {
  const common = 'c'.repeat(43);
  await using opened = await open({}, { callToken: () => ({ token: common, why: 'so' }) });
  assert.equal((await opened.run('connect', 'cursor')).code, 0);
  const text = await opened.textOf(files.cursor);
  assert.deepEqual(opened.owners(text), ['cursor']);
  assert.ok(!text.includes(common));
});

test('if calls need no token, only --token writes one', async () => {
  await using opened = await open({});
  await opened.run('connect', 'cursor');
  assert.deepEqual(opened.owners(await opened.textOf(files.cursor)), []);
  assert.equal((await opened.run('connect', 'cursor', '--token')).code, 0);
  assert.deepEqual(opened.owners(await opened.textOf(files.cursor)), ['cursor']);
});

test('--token makes the token in the data folder if no hub runs, and disconnect revokes it there', async () => {
  await using machine = await openScratch();
  await using scratch = await openScratchClients();
  const config: Config = { servers: [], naming: { separator: '_', maxLength: 46 } };
  const needs: FlatNeeds = {
    openClients: async () => machine.clients,
    findBridge: async () => address.bridge,
    findHub: async () => ({ url: 'http://127.0.0.1:9', token: undefined }),
    openTokens: async () =>
      await openStoredClients(config, {
        settings: readSettings({ DATA_DIR: scratch.folder }),
        clock: systemClock,
        audit: { hubVersion: '1.2.3', warn: assert.fail },
      }),
  };
  const { code, err } = await run(['connect', 'cursor', '--token', '--yes'], needs);
  assert.equal(code, 0, err);
  const [token = ''] =
    /[\w-]{43}/.exec(await readFile(join(machine.home, files.cursor), 'utf8')) ?? [];
  assert.equal((await scratch.open()).find({ digest: digestOf(token) })?.principal?.name, 'cursor');
  assert.equal((await run(['disconnect', 'cursor', '--yes'], needs)).code, 0);
  const known = (await scratch.open()).find({ digest: digestOf(token) });
  assert.deepEqual([known?.name, known?.principal], ['cursor', undefined]);
});
