import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';
import { loadConfig } from '#config';
import { configOf } from '#helpers/hub';
import { freePort } from '#helpers/port';
import { type FlatNeeds, installationOf, run } from '../run.ts';

const shipped = fileURLToPath(
  new URL('../../../configs/mcp-servers.default.json', import.meta.url),
);
const load = async (file: string) => await loadConfig(file, { env: {}, home: '/home/user' });

const check = async (args: readonly string[], needs: FlatNeeds = {}) =>
  await run(['check', ...args], {
    loadConfig: async (file = shipped) => ({ file, config: await load(file) }),
    ...needs,
  });

test('prints the servers of the config, one per line', async () => {
  const { code, out, err } = await check([]);
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  const [first, ...lines] = out.split('\n');
  assert.equal(first, `${shipped}: fine, 5 servers`);
  assert.equal(lines.length, 5);
  assert.match(
    lines[0] ?? '',
    /^ {2}memory +npm @modelcontextprotocol\/server-memory@\S+ +starts with the hub$/,
  );
  assert.match(lines[4] ?? '', /^ {2}ollama +agenthub:ollama-mcp, a server of the hub +starts at/);
});

test('prints warnings on stderr, one per line, and exits with 0', async () => {
  const config = await load(shipped);
  const servers = config.servers.map(server =>
    server.launch.kind === 'local'
      ? {
          ...server,
          launch: { ...server.launch, package: { ecosystem: 'npm', spec: 'x' } as const },
        }
      : server,
  );
  const needs = { loadConfig: async () => ({ file: 'hub.json', config: { ...config, servers } }) };
  const { code, out, err } = await check([], needs);
  assert.equal(code, 0);
  assert.match(out, /^hub\.json: fine, 5 servers/);
  assert.equal(err.split('\n').length, 5);
  assert.match(err, /^warning: memory: the package x has no version, [^\n]*$/m);
});

test('does not warn of a rule for a client for which the hub made a token', async () => {
  const config = {
    ...(await load(shipped)),
    policy: [{ clients: ['cursor', 'zed'], action: 'deny' }] as const,
  };
  const { err } = await check([], {
    loadConfig: async () => ({ file: 'hub.json', config }),
    readTokenNames: async () => ['cursor'],
  });
  assert.match(err, /^warning: policy\[0\]\.clients: "zed" is not in "clients"[^\n]*$/);
});

test('warns of what the data folder or a certificate needs soon', async () => {
  const checkPlaces = async () => ['ROUTER_TLS_CERT: it expires'];
  const { code, err } = await check([], { checkPlaces });
  assert.deepEqual({ code, err }, { code: 0, err: 'warning: ROUTER_TLS_CERT: it expires' });
  const { out } = await check(['--json'], { checkPlaces });
  assert.deepEqual(JSON.parse(out).warnings, ['ROUTER_TLS_CERT: it expires']);
});

test('checks the lock file of the config file that --config names', async () => {
  const asked: unknown[] = [];
  const findLockFault = async (file: string | undefined) => {
    asked.push(file);
    return 'other.lock.json: damaged';
  };
  const config = await load(shipped);
  const loadConfig = async () => ({ file: 'other.json', config });
  const { code, err } = await check(['--config', 'other.json'], { findLockFault, loadConfig });
  assert.deepEqual({ code, err }, { code: 0, err: 'warning: other.lock.json: damaged' });
  await check([], { findLockFault });
  assert.deepEqual(asked, ['other.json', undefined]);
});

test.skipIf(process.platform !== 'linux')(
  'warns of a mount that the user of its server cannot use, with the remedy',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agenthub-check-'));
    mkdirSync(join(folder, 'notes'), { mode: 0o700 });
    const file = join(folder, 'hub.json');
    const entry = { package: 'files@1.0.0', user: '77:77', mounts: ['./notes:/notes:rw'] };
    writeFileSync(file, JSON.stringify({ servers: { files: entry } }));
    const { code, err } = await check(['--config', file]);
    rmSync(folder, { recursive: true });
    assert.equal(code, 0);
    assert.match(
      err,
      /^warning: files: it runs as user 77, who cannot write to \S+, [^\n]*setfacl/m,
    );
  },
);

test('exits with 2 and only the message if the file is invalid', async () => {
  const { code, out, err } = await check(['--config', '/absent/servers.json']);
  assert.deepEqual({ code, out }, { code: 2, out: '' });
  assert.match(err, /^\/absent\/servers\.json: there is no such file\. [^\n]*$/);
});

test('shows what a server runs, without values that may be secret', async () => {
  const local = configOf({ name: 'own', command: '/bin/own', args: ['--token=s3cret'] });
  assert.ok(local.launch.kind === 'local');
  const image = { ...local.launch, image: 'any:1', command: undefined, runtime: 'auto' } as const;
  const servers = [
    configOf({ name: 'far', url: 'https://user:s3cret@far.test:8443/s3cret?key=s3cret' }),
    configOf({ name: 'odd', url: 's3cret' }),
    { ...local, autoStart: false },
    { ...local, name: 'boxed', launch: image },
    { ...local, name: 'both', enabled: false, launch: { ...image, runtime: 'docker' as const } },
  ];
  const naming = { separator: '_', maxLength: 46 } as const;
  const loaded = { file: 'hub.json', config: { servers, naming }, insteadOf: 'mine.json' };
  const needs = { loadConfig: async () => loaded };
  const { out, err } = await check([], needs);
  assert.deepEqual(out.split('\n').slice(1), [
    '  far    http https://far.test:8443  starts with the hub',
    '  odd    http elsewhere              starts with the hub',
    '  own    command /bin/own (process)  starts at the first call',
    '  boxed  image any:1                 starts with the hub',
    '  both   image any:1 (docker)        disabled',
  ]);
  assert.match(err, /^note: there is no mine\.json yet: this one comes with AgentHub/m);
  const { servers: listed } = JSON.parse((await check(['--json'], needs)).out);
  assert.deepEqual(listed[0], {
    name: 'far',
    runs: 'http https://far.test:8443',
    starts: 'starts with the hub',
  });
});

test('with --live names the models that Ollama lacks, and exits with 1 if one is required', async () => {
  const embedder = { model: 'e:1', use: 'embedding', message: 'The embedder is missing' };
  const fallback = { model: 'f:1', use: 'fallback', message: 'The fallback is missing' };
  const findHub = async () => ({ url: 'http://127.0.0.1:1', token: undefined });
  const live = async (missing: readonly (typeof embedder)[], ...args: readonly string[]) =>
    await check(['--live', ...args], {
      findHub,
      examine: async () =>
        installationOf({
          state: 'up',
          detail: 'Ollama 0.24.0',
          missing: missing.map(one => ({ ...one, isPulled: false })),
        }),
    });
  const both = await live([embedder, fallback]);
  assert.equal(both.code, 1);
  assert.equal(both.out.split('\n').at(-1), 'Ollama: see below');
  assert.match(both.err, /^warning: The embedder is missing$/m);
  assert.match(both.err, /^note: The fallback is missing$/m);
  const json = await live([embedder], '--json');
  assert.equal(json.code, 1);
  assert.deepEqual(JSON.parse(json.out).ollama.missing, [{ ...embedder, isPulled: false }]);
  assert.equal((await live([fallback])).code, 0);
  const none = await live([]);
  assert.deepEqual([none.code, none.out.split('\n').at(-1)], [0, 'Ollama: Ollama 0.24.0']);
});

test('with --live does not advise to pull a model that a running hub pulls', async () => {
  const missing = ['e:1', 'm:1'].map(model => ({
    model,
    use: 'rule',
    message: `${model}: get it with "ollama pull"`,
    isPulled: false,
  }));
  const known = missing.map(({ model, use, message }) => ({ model, use, message }));
  const pulled = { ...known[0], message: 'e:1: it is being pulled: 48 %', is_pulled: true };
  const ollama = { state: 'degraded', missing_models: [pulled, known[1]] };
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ parts: { ollama } }));
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { code, err } = await check(['--live'], {
    findHub: async () => ({ url: `http://127.0.0.1:${port}`, token: undefined }),
    examine: async () => installationOf({ state: 'up', detail: 'Ollama 0.24.0', missing }),
  });
  server.close();
  assert.equal(code, 1);
  assert.match(err, /^note: e:1: it is being pulled: 48 %$/m);
  assert.match(err, /^warning: m:1: get it with "ollama pull"$/m);
});
