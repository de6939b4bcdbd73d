import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type GuardedPlace, loadConfig } from '#config';
import { HubError } from '#core';
import { findEngineSocket, findSandboxEscape } from '../../hub/config/mount-guard.ts';

// A home with a user's files, a hub with its own files, and links to both.
let top = '';
const at = (path: string) => join(top, path);

beforeAll(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-guard-')));
  for (const folder of [
    'home/.ssh',
    'home/notes',
    'hub/base',
    'data/servers',
    'code',
    'keys',
    'free',
  ])
    await mkdir(at(folder), { recursive: true });
  await mkdir(at('moved/inner'), { recursive: true });
  for (const [target, link] of [
    ['../home/.ssh', 'free/to-ssh'],
    ['../home', 'free/to-home'],
    ['../data', 'free/to-data'],
    ['../free/later', 'keys/to-nothing'],
    ['../keys/gnupg', 'home/.gnupg'],
    ['../moved/hop', 'home/.zshrc'],
    ['inner/zshrc', 'moved/hop'],
    ['round-b', 'home/.bashrc'],
    ['.bashrc', 'home/round-b'],
  ] as const)
    await symlink(target, at(link));
  await writeFile(at('hub/base/base.json'), '{"servers": {}}');
});
afterAll(async () => await rm(top, { recursive: true, force: true }));

const ownPlaces = (): readonly GuardedPlace[] => [
  { path: at('hub/.env'), what: "the hub's variables", kind: 'both' },
  { path: at('data'), what: "the hub's data folder", kind: 'both' },
  { path: at('code'), what: "the hub's code", kind: 'run' },
];

/** Returns the problems of an entry; an empty text if it is valid. */
async function problemOf(entry: object, env: Record<string, string> = {}): Promise<string> {
  const file = at('hub/hub.json');
  const config = { extends: 'base/base.json', servers: { one: { image: 'any:1', ...entry } } };
  await writeFile(file, JSON.stringify(config));
  try {
    await loadConfig(file, {
      env,
      home: at('home'),
      ownPlaces: ownPlaces(),
      clientFiles: async home =>
        home === at('home')
          ? [at('app/Claude/claude_desktop_config.json')]
          : [join(home, '.client.json')],
    });
    return '';
  } catch (error) {
    assert.ok(error instanceof HubError, String(error));
    return error.message;
  }
}

const mounting = async (source: string, mode: 'ro' | 'rw', more: object = {}, env = {}) =>
  await problemOf(
    { mounts: [`${source.startsWith('/') ? source : at(source)}:/x:${mode}`], ...more },
    env,
  );

describe('a server may not write', () => {
  test.for([
    ['hub/hub.json', "the hub's config"],
    ['hub', "the hub's config"],
    ['hub/base', "the hub's config"],
    ['hub/base/base.json', "the hub's config"],
    ['hub/.env', "the hub's variables"],
    ['data', 'data folder'],
    ['data/servers', 'data folder'],
    ['data/owner-key', 'data folder'],
    ['', "the hub's config"],
    ['code', "the hub's code"],
    ['code/hub/main.ts', "the hub's code"],
    ['home', 'SSH keys'],
    ['home/.ssh', 'SSH keys'],
    ['home/.ssh/authorized_keys', 'SSH keys'],
    ['home/.bashrc', 'shell startup files'],
    ['home/.profile', 'shell startup files'],
    ['home/.config', 'shell startup files'],
    ['home/.config/fish/conf.d', 'shell startup files'],
    ['home/.config/systemd/user', 'systemd units'],
    ['home/.config/autostart', 'logs in'],
    ['home/.local', 'systemd units'],
    ['home/.local/bin', 'programs of this user'],
    ['home/.gitconfig', 'git'],
    ['/etc/cron.d', 'cron jobs'],
    ['/var/spool', 'cron jobs'],
    ['/var/spool/cron/crontabs', 'cron jobs'],
    ['/etc/systemd/system', 'systemd units'],
    ['/etc/profile.d', 'shell startup files'],
    ['app', 'an MCP client runs'],
    ['app/Claude/claude_desktop_config.json', 'an MCP client runs'],
    ['free/to-ssh', 'SSH keys'],
    ['free/to-home', 'SSH keys'],
    ['free/to-home/.ssh/new', 'SSH keys'],
    ['free/to-data/servers', 'data folder'],
    ['keys/gnupg', 'GnuPG keys'],
    ['moved/inner', 'shell startup files'],
    ['moved', 'shell startup files'],
  ] as const)('to %s', async ([source, what]) => {
    for (const more of [{}, { allow_sensitive: true }, { runtime: 'docker', network: 'none' }]) {
      const problem = await mounting(source, 'rw', more);
      assert.match(problem, /servers\.one\.mounts\[0\].*is, contains or is in/);
      assert.ok(problem.includes(what), problem);
      assert.match(problem, /mount another folder/);
    }
  });

  test('and is refused in the form of an object, too', async () => {
    const mount = { source: at('data'), target: '/x', read_only: false };
    assert.match(await problemOf({ mounts: [mount] }), /data folder/);
  });

  test.for([
    ['/root/.ssh', '/root/.ssh'],
    ['/root', '/root/.ssh'],
    ['/home/ada', '/home/ada/.ssh'],
    ['/home/ada/.bashrc', '/home/ada/.bashrc'],
    ['/home/ada/.config', '/home/ada/.config/fish'],
    ['/home/ada/.client.json', '/home/ada/.client.json'],
    ['/Users/ada/Library', '/Users/ada/Library/LaunchAgents'],
    ['/home', '/home/user/.ssh'],
    ['/Users', '/Users/user/.ssh'],
  ] as const)(
    'to %s, of another user or of the host of a hub in a container',
    async ([source, place]) => {
      assert.match(await mounting(source, 'rw'), new RegExp(`is in ${place} `));
    },
  );

  test('but may write to other folders in the homes of other users', async () => {
    assert.equal(await mounting('/home/ada/notes', 'rw'), '');
    assert.match(await mounting('/home/ada/.aws', 'ro'), /"allow_sensitive": true/);
  });

  test('to a folder that a variable names for start-up files', async () => {
    const env = { ZDOTDIR: at('free/zsh'), XDG_CONFIG_HOME: at('free/config') };
    assert.equal(await mounting('free', 'rw'), '');
    assert.match(await mounting('free/zsh', 'rw', {}, env), /shell startup files/);
    assert.match(
      await mounting('free/config', 'rw', {}, env),
      /shell startup files|systemd|autostart/,
    );
  });
});

describe('a server reads keys only if its entry says "allow_sensitive"', () => {
  test.for([
    ['home/.ssh', 'SSH keys'],
    ['home/.ssh/id_ed25519', 'SSH keys'],
    ['home', 'SSH keys'],
    ['free/to-ssh', 'SSH keys'],
    ['keys', 'GnuPG keys'],
    ['home/.aws', 'keys or passwords'],
    ['home/.kube/config', 'keys or passwords'],
    ['home/.config/gcloud', 'keys or passwords'],
    ['home/.config', 'browser'],
    ['home/.docker', 'keys or passwords'],
    ['home/.netrc', 'keys or passwords'],
    ['home/.mozilla/firefox', 'browser'],
    ['home/.config/google-chrome/Default', 'browser'],
    ['home/.local/share/keyrings', 'keyring'],
    ['data', 'data folder'],
    ['data/owner-key', 'data folder'],
    ['hub/.env', "the hub's variables"],
    ['hub', "the hub's variables"],
    ['/etc', 'keys or passwords'],
    ['/etc/ssh', 'keys or passwords'],
  ] as const)('in %s', async ([source, what]) => {
    const problem = await mounting(source, 'ro');
    assert.ok(problem.includes(what), problem);
    assert.match(problem, /mount another folder, or add "allow_sensitive": true/);
    assert.equal(await mounting(source, 'ro', { allow_sensitive: true }), '');
  });

  test('in a folder that a variable names for keys', async () => {
    const env = { KUBECONFIG: `${at('free/k1')}:${at('free/k2')}`, GNUPGHOME: at('free/g') };
    for (const source of ['free/k2', 'free/g']) {
      assert.equal(await mounting(source, 'ro'), '');
      assert.match(await mounting(source, 'ro', {}, env), /allow_sensitive/);
    }
  });
});

test.for([
  ['free', 'rw'],
  ['free/later', 'rw'],
  ['home/notes', 'rw'],
  ['home/.cache/server', 'rw'],
  ['home/.sshd', 'rw'],
  ['home/.bashrc', 'ro'],
  ['code', 'ro'],
  ['hub/hub.json', 'ro'],
  ['/srv/music', 'rw'],
  ['/etc/server', 'ro'],
] as const)('%s may be mounted %s', async ([source, mode]) => {
  assert.equal(await mounting(source, mode), '');
});

test('"allow_sensitive" cannot be combined with "url", and is true or false', async () => {
  const remote = { image: undefined, url: 'https://mcp.example', allow_sensitive: true };
  assert.match(await problemOf(remote), /allow_sensitive: cannot be combined with "url"/);
  assert.match(
    await problemOf({ allow_sensitive: 'yes' }),
    /allow_sensitive: .*write true or false/,
  );
});

test('the hub guards its own files: config, .env, data, code and those of clients', async () => {
  const script = join(import.meta.dirname, '../../bin/agenthub.mjs');
  const root = await realpath(join(import.meta.dirname, '../..'));
  const folder = at('hub');
  const env = { ...process.env, HOME: at('home'), DATA_DIR: '../data', MCP_SERVERS_CONFIG: '' };
  const sources = [
    join(folder, 'own.json'),
    join(folder, 'base'),
    join(folder, '.env'),
    at('data/servers'),
    join(root, 'dist'),
    at('home/.claude.json'),
    join(folder, '.mcp.json'),
    at('home/.cursor/mcp.json'),
  ];
  const servers = Object.fromEntries(
    sources.map((source, index) => [`s${index}`, { image: 'any:1', mounts: [`${source}:/x:rw`] }]),
  );
  await writeFile(join(folder, 'own.json'), JSON.stringify({ extends: 'base/base.json', servers }));
  const ran = await promisify(execFile)(
    process.execPath,
    [script, 'check', '--config', 'own.json'],
    {
      cwd: folder,
      env,
    },
  ).then(
    () => assert.fail('it was valid'),
    (error: unknown) => String(Object(error).stderr),
  );
  for (const index of sources.keys())
    assert.match(ran, new RegExp(`servers\\.s${index}\\.mounts\\[0\\].*is, contains or is in`));
});

const engineSocket = '/home/user/.engine/own.sock';

test.for([
  ['/var/run/docker.sock', /engine's socket/],
  ['/run/user/1000/podman.sock', /engine's socket/],
  ['/run', /engine's socket/],
  ['/run/user', /engine's socket/],
  ['/var/run', /engine's socket/],
  ['/var', /engine's socket/],
  ['/', /engine's socket/],
  [engineSocket, /engine's socket/],
  ['/home/user/.engine', /engine's socket/],
  ['/home', /engine's socket/],
  ['/var/lib', /contains or is in \/var\/lib\/docker/],
  ['/var/lib/docker', /contains or is in \/var\/lib\/docker/],
  ['/var/lib/docker/volumes/x/_data', /contains or is in \/var\/lib\/docker/],
  ['/var/lib/containerd', /\/var\/lib\/containerd/],
  ['/proc/1/root', /\/proc/],
  ['/sys', /\/sys/],
  ['/dev/sda', /\/dev/],
  ['/var/lib/docker-data', undefined],
  ['/run/media/user/stick', undefined],
  ['/home/user/docs', undefined],
  ['/home/other', undefined],
  ['/devel', undefined],
  ['/etc', undefined],
] as const)('%s is refused: %s', async ([path, expected]) => {
  const reason = await findSandboxEscape(path, true, engineSocket);
  if (expected === undefined) assert.equal(reason, undefined);
  else assert.match(reason ?? '', expected);
});

test('/etc may be mounted read-only only, and a folder in it as configured', async () => {
  assert.match((await findSandboxEscape('/etc', false, undefined)) ?? '', /mount it read-only/);
  assert.equal(await findSandboxEscape('/etc/server', false, undefined), undefined);
});

test.for([
  ['unix:///home/user/engine.sock', '/home/user/engine.sock'],
  ['tcp://127.0.0.1:2375', undefined],
  [undefined, undefined],
] as const)('the guarded socket of DOCKER_HOST=%s is %s', ([address, socket]) => {
  assert.equal(findEngineSocket({ DOCKER_HOST: address }), socket);
});
