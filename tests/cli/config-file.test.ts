import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { createConfigEditor, loadConfig } from '#config';
import { startHub } from '#helpers/hub';
import { writeWhole } from '#store';
import { openScratch } from '../clients/machine.ts';
import { type FlatNeeds, run } from './run.ts';

let folder = '';
let file = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agenthub-cli-'));
  file = join(folder, 'configs', 'servers.json');
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => rmSync(join(folder, 'configs'), { recursive: true, force: true }));

const options = { env: { GITHUB_TOKEN: 'x', DOCS_TOKEN: 'x' }, home: '/home/user' };
/** Dependencies of commands without a running hub: nothing listens on port 1. */
const needs: FlatNeeds = {
  findHub: async url => ({ url: url ?? 'http://127.0.0.1:1', token: undefined }),
  findConfigFile: async () => file,
  editConfig: async () => createConfigEditor({ readOptions: async () => options, writeWhole }),
  loadConfig: async (named = file) => ({ file: named, config: await loadConfig(named, options) }),
};
const cli = (...args: readonly string[]) => run(args, needs);
const serversIn = async (path: string) =>
  (await loadConfig(path, options)).servers.map(({ name }) => name);

describe('without a hub', () => {
  test('add writes the entry and leaves the rest unchanged, and remove deletes it', async () => {
    await using scratch = await openScratch();
    await cli('init');
    const before = readFileSync(file, 'utf8');
    const added = await run(
      ['add', 'uvx:mcp-server-time==1.0', '--arg=--local', '-e', 'ZONE=UTC'],
      { ...needs, openClients: async () => scratch.clients },
    );
    assert.equal(added.code, 0, added.err);
    assert.match(
      added.out,
      /^added time to .*No hub is running: it is installed at the next start/,
    );
    assert.match(readFileSync(file, 'utf8'), /"args": \[\s*"--local"\s*\]/);
    assert.deepEqual(await serversIn(file), ['memory', 'time']);
    const removed = await cli('remove', 'time');
    assert.equal(removed.code, 0, removed.err);
    assert.match(removed.out, /^removed the entry time from /);
    assert.equal(readFileSync(file, 'utf8'), before);
  });

  test('remove names the secrets that nothing uses now', async () => {
    await cli('init');
    const left = [{ kind: 'secret', name: 'KEY', why: 'nothing uses it now' }];
    const asked: string[] = [];
    const { code, err } = await run(['remove', 'memory'], {
      ...needs,
      async secretsLeftBy(server, config) {
        asked.push(server, ...config.servers.map(({ name }) => name));
        return left;
      },
    });
    assert.deepEqual([code, err], [0, 'not removed: the secret KEY: nothing uses it now']);
    assert.deepEqual(asked, ['memory', 'memory'], 'the config is the one with the server');
  });

  test('remove deletes the login of the server, after its entry', async () => {
    await cli('init');
    const command = async (
      removeStoredLogin: FlatNeeds['removeStoredLogin'],
      ...args: readonly string[]
    ) =>
      await run(['remove', 'memory', ...args], {
        ...needs,
        removeStoredLogin: removeStoredLogin ?? (async () => false),
      });
    const removed = async (name: string) => {
      assert.deepEqual([name, await serversIn(file)], ['memory', []]);
      return true;
    };
    const first = await command(removed);
    assert.equal(first.code, 0, first.err);
    assert.match(
      first.out,
      /\nremoved the login memory\. Its tokens were deleted here, but not revoked$/,
    );
    rmSync(file);
    await cli('init');
    const { out } = await command(
      async () => await Promise.reject(new Error('it is locked')),
      '--json',
    );
    assert.deepEqual(JSON.parse(out), {
      name: 'memory',
      removed: [{ kind: 'entry', name: 'memory' }],
      left: [{ kind: 'login', name: 'memory', why: 'it is locked' }],
    });
  });

  test('add names the option for the folder that a recipe needs', async () => {
    await cli('init');
    const { code, err } = await run(['add', '--recipe', 'git'], {
      ...needs,
      readRecipe: async () => ({ package: 'uvx:g==1.0', mounts: ['${REPOSITORY}:/repository'] }),
    });
    const message = '--recipe: "git" needs a folder of yours: add --mount FOLDER:/repository';
    assert.equal(code, 2);
    assert.equal(err.split('\n')[0], message);
  });

  test('add names the option at fault, and a wrong entry of the file by its place', async () => {
    await cli('init');
    const before = readFileSync(file, 'utf8');
    const wrong = await cli('add', 'x@1.0.0', '--mount', 'foo');
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /^--mount: "foo" is not allowed: write "source:target"/);
    assert.equal(readFileSync(file, 'utf8'), before);
    writeFileSync(file, '{"servers": {"old": {"package": "y@1.0.0", "mounts": ["foo"]}}}');
    const other = await cli('add', 'x@1.0.0', '--mount', 'foo');
    assert.match(other.err, /servers\.json:1:\d+: servers\.old\.mounts\[0\]: "foo" is not allowed/);
  });

  test('add --json says that nothing is installed yet, and has the warnings', async () => {
    await cli('init');
    const { out } = await cli('add', '@scope/server-memory', '--json');
    const { name, installed, warnings } = JSON.parse(out);
    assert.deepEqual({ name, installed }, { name: 'memory-2', installed: false });
    assert.match(warnings[0], /the package @scope\/server-memory has no version/);
  });

  test('add warns of the new entry only, not of rules for the other servers', async () => {
    await cli('init');
    const servers = { files: { package: 'y@1.0.0' } };
    const policy = [{ servers: ['files'], tools: ['files_read'], action: 'deny' }];
    const fan_out = { all: { tools: ['files_read'] } };
    writeFileSync(file, JSON.stringify({ servers, policy, fan_out }));
    const { out } = await cli('add', 'x@1.0.0', '--json');
    assert.deepEqual(JSON.parse(out).warnings, []);
  });

  test.for(['servers', 'mcpServers'])(
    'add names the option to correct, if the file has "%s"',
    async form => {
      await cli('init');
      writeFileSync(file, JSON.stringify({ [form]: { one: { image: 'one:1' } } }));
      const { code, err } = await cli('add', 'x@1.0.0', '--mount', 'foo');
      assert.equal(code, 2);
      assert.match(err, /^--mount: "foo" is not allowed: write "source:target"/);
    },
  );

  test.for([
    [['add', 'x@1.0.0', '--name', 'memory'], 1, /there is a server "memory" already/],
    [['add', 'x@1.0.0', '--network', 'host'], 2, /network/],
    [['add', 'x@1.0.0', '--url', 'http://127.0.0.1:1'], 1, /^no hub answers/],
    [['remove', 'nothing'], 1, /it has no server "nothing"/],
    [['remove', 'memory', '--purge'], 1, /^--purge: only a running hub can remove images/],
    [['remove', 'memory', '--url', 'http://127.0.0.1:1'], 1, /^no hub answers/],
  ] as const)('%j changes nothing and exits with %i', async ([args, expected, message]) => {
    await cli('init');
    const before = readFileSync(file, 'utf8');
    const { code, err } = await cli(...args);
    assert.equal(code, expected);
    assert.match(err, message);
    assert.equal(readFileSync(file, 'utf8'), before);
  });

  test('add and remove do not write the file if a running hub refuses the caller', async () => {
    await cli('init');
    await using closed = await startHub([], { http: { token: 'a-token-of-16-chars' } });
    const findHub = async () => ({ url: closed.url, token: undefined });
    for (const args of [
      ['add', 'x@1.0.0'],
      ['remove', 'memory'],
    ]) {
      const { code, err } = await run(args, { ...needs, findHub });
      assert.equal(code, 1);
      assert.match(err, /wants its token/);
    }
    assert.deepEqual(await serversIn(file), ['memory']);
  });

  test('add without a config says how to create one', async () => {
    const { code, err } = await cli('add', 'x@1.0.0');
    assert.equal(code, 2);
    assert.match(err, /no config file to change\. Create one with "agenthub init"/);
  });
});
