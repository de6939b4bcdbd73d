import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type JsonObject, isObject } from '#core';
import { fitEntry } from '../../hub/clients/fit-entry.ts';

/** Files and folders of a machine with two users: mode, and owner (default: 1000). */
const paths: Readonly<Record<string, readonly [mode: number, owner?: number]>> = {
  '/home/me/notes': [0o755],
  '/home/me/notes/sub': [0o755],
  '/home/me/a.db': [0o644],
  '/home/me/other': [0o700, 1001],
  '/home/me/other/in': [0o700, 1001],
  '/srv/root': [0o755, 0],
  '/opt/data': [0o755],
  '/root/x': [0o755, 0],
  '/proc/1': [0o555, 0],
  'C:\\Users\\me\\notes': [0o777],
};

type Options = {
  readonly write?: boolean;
  readonly base?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly hasKey?: boolean;
  readonly platform?: string;
  readonly more?: readonly string[];
};

async function fitted(entry: JsonObject, options: Options = {}) {
  const { write = false, base, variables = {}, hasKey = false, more = [] } = options;
  return await fitEntry(entry, {
    name: 'one',
    remedy: 'repeat this with --mount one=FOLDER',
    machine: {
      home: '/home/me',
      folder: '/home/me',
      platform: options.platform ?? 'linux',
      find: async path => {
        const found = paths[path];
        if (!found) return undefined;
        const [mode, owner = 1000] = found;
        return { isFolder: !path.includes('.db'), uid: owner, gid: owner, mode };
      },
    },
    grants: { mayWrite: () => write, mountsOf: () => more },
    base,
    variables: Object.entries(variables).map(([name, value]) => ({ name, value })),
    hasKey,
  });
}

const npx = (...args: readonly string[]) => ({ command: 'npx', args: ['-y', '@a/b', ...args] });

describe('a folder that a server names becomes a mount:', () => {
  test.for([
    ['/home/me/notes', '/home/me/notes', '/home/me/notes:/home/me/notes'],
    ['/home/me/notes/', '/home/me/notes', '/home/me/notes:/home/me/notes'],
    ['~/notes', '/home/me/notes', '/home/me/notes:/home/me/notes'],
    ['--dir=/home/me/notes', '--dir=/home/me/notes', '/home/me/notes:/home/me/notes'],
    ['/home/me/a.db', '/home/me/a.db', '/home/me/a.db:/home/me/a.db'],
    ['/opt/data', '/mnt/opt/data', '/opt/data:/mnt/opt/data'],
    ['C:\\Users\\me\\notes', '/c/Users/me/notes', 'C:\\Users\\me\\notes:/c/Users/me/notes'],
  ] as const)('%s is %s in the container', async ([written, text, mount]) => {
    const { entry } = await fitted(npx(written));
    assert.deepEqual(entry, { ...npx(text), mounts: [mount] });
  });

  test.for(['/none', './notes', '/proc/1', 'notes', '${HOME}/notes', '--notes'])(
    'but not %s',
    async written => {
      const { entry } = await fitted(npx(written));
      assert.deepEqual(entry, npx(written));
    },
  );

  test('relative to where the client starts the server, if that is known', async () => {
    const { entry } = await fitted(npx('./notes', '.'), { base: '/home/me/notes/..' });
    assert.deepEqual(entry['args'], ['-y', '@a/b', '/home/me/notes', '.']);
  });

  test('once, even if the server also names a folder in it', async () => {
    const { entry } = await fitted(npx('/home/me/notes/sub', '/home/me/notes', '~/notes'));
    assert.deepEqual(entry['mounts'], ['/home/me/notes:/home/me/notes']);
  });

  test('even in a variable, and even in one that looks like a key', async () => {
    const env = {
      DB: '/home/me/a.db',
      CREDENTIALS: '${MCP_ONE_CREDENTIALS}',
      KEY: '${MCP_ONE_KEY}',
    };
    const { entry } = await fitted(
      { ...npx(), env },
      { variables: { MCP_ONE_CREDENTIALS: '/home/me/notes', MCP_ONE_KEY: 'x' } },
    );
    assert.deepEqual(entry['env'], { ...env, CREDENTIALS: '/home/me/notes' });
    assert.equal(Array.isArray(entry['mounts']) && entry['mounts'].length, 2);
  });

  test('writable only if that is granted, and beside the mounts of the user', async () => {
    const { entry } = await fitted(npx('~/notes'), { write: true, more: ['/srv/root:/r:ro'] });
    assert.deepEqual(entry['mounts'], ['/home/me/notes:/home/me/notes:rw', '/srv/root:/r']);
  });

  test('even if the user mounts the folder at another path, or makes it writable', async () => {
    const named = async (mount: string) =>
      (await fitted(npx('~/notes'), { more: [mount] })).entry['mounts'];
    assert.deepEqual(await named('~/notes:/data'), [
      '/home/me/notes:/home/me/notes',
      '/home/me/notes:/data',
    ]);
    assert.deepEqual(await named('~/notes:rw'), ['/home/me/notes:/home/me/notes:rw']);
  });

  test('but not for an image, whose paths are those of its container', async () => {
    const entry = { image: 'a/b:1', args: ['/home/me/notes'] };
    assert.deepEqual((await fitted(entry)).entry, entry);
  });
});

describe('a server whose user cannot use its folder', () => {
  test('runs as the owner of the folder', async () => {
    const { entry, remarks } = await fitted(npx('~/other', '~/notes'));
    assert.deepEqual([entry['user'], remarks], ['1001:1001', []]);
    assert.equal((await fitted(npx('~/notes'), { write: true })).entry['user'], undefined);
    const mac = await fitted(npx('~/other'), { platform: 'darwin' });
    assert.equal(mac.entry['user'], undefined);
  });

  test('gets a remark with a remedy if the owner is root', async () => {
    assert.deepEqual((await fitted(npx('/srv/root'))).remarks, []);
    const { entry, remarks } = await fitted(npx('/srv/root'), { write: true });
    assert.equal(entry['user'], undefined);
    assert.match(
      remarks.join(),
      /runs as user 1000, who cannot write to \/srv\/root, which belongs to 0:0\. Allow it with "setfacl -R -m u:1000:rwX \/srv\/root"/,
    );
  });
});

describe('a server gets the network', () => {
  const networkOf = async (entry: JsonObject, options: Options = {}) =>
    (await fitted(entry, options)).entry['network'];

  test('for the hosts that its package is known to need', async () => {
    const github = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-github@1.0.0'] };
    assert.deepEqual(await networkOf(github, { hasKey: true }), { allow: ['api.github.com'] });
    assert.equal(await networkOf({ command: 'uvx', args: ['mcp-server-fetch'] }), 'bridge');
    assert.deepEqual(await networkOf({ image: 'ghcr.io/github/github-mcp-server:v1.0.0' }), {
      allow: ['api.github.com'],
    });
  });

  test('for the addresses that it names, and otherwise for any host if it has a key', async () => {
    const env = { URL: '${MCP_ONE_URL}', API: 'https://api.example/v1' };
    const variables = { MCP_ONE_URL: 'postgres://me:pw@db.internal/x' };
    assert.deepEqual(await networkOf({ ...npx(), env }, { variables, hasKey: true }), {
      allow: ['db.internal:5432', 'api.example'],
    });
    assert.equal(await networkOf(npx(), { hasKey: true }), 'bridge');
    assert.equal(await networkOf(npx()), undefined);
    assert.equal(await networkOf({ ...npx(), network: 'none' }, { hasKey: true }), 'none');
    assert.equal(await networkOf(npx('file:///x', 'http://10.0.0.1/')), undefined);
  });

  test('but not for an address of this machine, which it cannot reach', async () => {
    const { entry, remarks } = await fitted(npx('redis://localhost:6379'));
    assert.equal(entry['network'], undefined);
    assert.match(
      remarks.join(),
      /localhost:6379 is this machine, which its container cannot reach/,
    );
  });
});

test('git accepts repositories of another user, and gets a remark if it has no repository', async () => {
  const git = (...args: readonly string[]) => ({
    command: 'uvx',
    args: ['mcp-server-git', ...args],
  });
  const { entry } = await fitted(git('--repository', '/srv/root'));
  assert.ok(isObject(entry['env']));
  assert.equal(entry['env']['GIT_CONFIG_VALUE_0'], '*');
  assert.equal((await fitted(git('--repository', '~/notes'))).entry['env'], undefined);
  assert.match(
    (await fitted(git())).remarks.join(),
    /names none: repeat this with --mount one=FOLDER/,
  );
});

test('a folder that does not exist is reported if the server needs one', async () => {
  const files = (path: string) => ({
    command: 'npx',
    args: ['@modelcontextprotocol/server-filesystem', path],
  });
  const remarksOn = async (path: string) => (await fitted(files(path))).remarks.join('\n');
  assert.equal(
    await remarksOn('~/nots'),
    'it works on folders, and /home/me/nots does not exist on this machine: correct the path, or create the folder',
  );
  assert.equal(await remarksOn('/home/me/notes'), '');
});
