import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate, randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isObject } from '#core';
import { createCertificates } from '#helpers/certificates';
import { describeWithEngine } from '#helpers/engine';
import { startHub } from '#helpers/hub';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type ObsidianDouble, startObsidian } from '../doubles/obsidian.ts';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';
import { git, writeFiles } from '../repositories/git.ts';
import { goodAnswer, goodReview } from '../tasks/pipeline.ts';
import { createWorld } from './egress-scene.ts';
import { placesOf } from './places-of-secrets.ts';

const run = promisify(execFile);
const bin = join(import.meta.dirname, '..', '..', 'bin', 'agenthub.mjs');
const project = `agenthub-test-${process.pid}`;
/** A port below the range from which the system assigns ports. */
const port = 20_000 + (process.pid % 10_000);
const url = `http://127.0.0.1:${port}`;
const upMs = 280_000;
const redisImage = 'redis:8.2.6';

/** Python program that prints the HTTP status of each given host. */
const reaching = `import sys, urllib.request, urllib.error
for host in sys.argv[1:]:
    try: print(urllib.request.urlopen("http://" + host).status)
    except urllib.error.HTTPError as error: print(error.code)`;

const secrets = { NOTE_KEY: `noted ${randomUUID()}` };

let folder = '';
/** Value of AGENTHUB_MOUNT_ROOT. */
let mountRoot = '/srv/agenthub';
/** Compose files of the README, and one that sets a config of this test. */
let files: readonly string[] = [];

/** Runs docker and returns its stdout. Rejects with its stderr if it fails. */
async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('docker', args, {
    env: { ...process.env, ROUTER_PORT: String(port), AGENTHUB_MOUNT_ROOT: mountRoot },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

const compose = (...args: readonly string[]) =>
  docker('compose', '-p', project, ...files.flatMap(file => ['-f', file]), ...args);

async function inspect(name: string): Promise<Inspected> {
  const parsed: unknown = JSON.parse(await docker('inspect', name));
  const [value] = Array.isArray(parsed) ? parsed : [];
  return part(value);
}

/** Reads a value of a JSON object by its dotted path. */
type Inspected = (path: string) => unknown;

const part =
  (value: unknown): Inspected =>
  path =>
    path.split('.').reduce<unknown>((from, key) => (isObject(from) ? from[key] : undefined), value);

/** Returns the compose config with these overrides, as docker compose resolves it. Cached. */
async function config(...overrides: readonly string[]): Promise<Inspected> {
  const names = ['docker-compose.yml', ...overrides].flatMap(file => ['-f', file]);
  const key = names.join(' ');
  const text = texts.get(key) ?? docker('compose', ...names, 'config', '--format', 'json');
  texts.set(key, text);
  return part(JSON.parse(await text));
}
const texts = new Map<string, Promise<string>>();

/** A server whose tool requests a host that is not allowed from the egress proxy. */
const asking = `
  const { request } = require('node:http');
  const tool = { name: 'ask', inputSchema: { type: 'object' } };
  const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method } = line === '' ? {} : JSON.parse(line);
    if (method === 'initialize') reply(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'online', version: '1' } });
    else if (method === 'tools/list') reply(id, { tools: [tool] });
    else if (method === 'tools/call') {
      const { hostname, port } = new URL(process.env.HTTP_PROXY);
      const socket = require('node:net').connect(port, hostname);
      socket.end('GET http://denied.test/ HTTP/1.1\\r\\nHost: denied.test\\r\\nConnection: close\\r\\n\\r\\n');
      let text = '';
      socket.on('data', chunk => { text += chunk; });
      socket.on('close', () => reply(id, { content: [{ type: 'text', text }] }));
    } else if (id !== undefined) reply(id, {});
  });
`.replaceAll(/\s+/g, ' ');

describeWithEngine('the compose files', () => {
  test('pin every image by a tag that the tests can pull', async () => {
    const services = (await config())('services');
    assert.ok(isObject(services));
    assert.deepEqual(Object.keys(services).toSorted(), [
      'broker',
      'hub',
      'keys',
      'ollama',
      'qdrant',
      'redis',
    ]);
    for (const [name, service] of Object.entries(services)) {
      const image = String(part(service)('image'));
      assert.match(image, /^[a-z/]+:v?\d+\.\d+\.\d+$/, name);
      assert.equal(part(service)('pull_policy'), undefined, name);
      // The service `keys` creates the passwords and exits, so it has no health check.
      assert.equal(part(service)('healthcheck') === undefined, name === 'keys', name);
      assert.ok(Number(part(service)('mem_limit')) > 0, `${name} has a bound of memory`);
    }
  });

  test.each([
    ['without TLS', undefined, {}],
    ['with TLS', {}, { ROUTER_TLS_CERT: 'x' }],
    [
      'that asks for certificates',
      { isRequired: false },
      {
        ROUTER_TLS_CERT: 'x',
        ROUTER_TLS_CLIENT_CA: 'x',
        ROUTER_TLS_CLIENT_AUTH: 'requested',
      },
    ],
    [
      'that requires certificates',
      { isRequired: true },
      { ROUTER_TLS_CERT: 'x', ROUTER_TLS_CLIENT_CA: 'x' },
    ],
  ] as const)('find a hub %s healthy', async (_, clients, variables) => {
    using certificates = createCertificates();
    const authority = certificates.createAuthority('hub-authority');
    const tls = clients && {
      ...authority.sign({ alternativeNames: 'DNS:hub.test' }),
      ...('isRequired' in clients && { clients: { ...clients, caFile: authority.certFile } }),
    };
    await using hub = await startHub([], { http: { host: '127.0.0.1', ...(tls && { tls }) } });
    const healthcheck = (await config())('services.hub.healthcheck.test');
    assert.ok(Array.isArray(healthcheck));
    const [, , ...words] = healthcheck.map(String);
    const ROUTER_PORT = new URL(hub.url).port;
    const env = { ROUTER_PORT, DATA_DIR: certificates.folder, ...variables };
    // Compose doubles the dollar signs of what it prints.
    await run(
      process.execPath,
      words.map(word => word.replaceAll('$$', '$')),
      { env },
    );
    const none = { ...env, ROUTER_PORT: '1' };
    await assert.rejects(run(process.execPath, words, { env: none }));
  });

  test('name every image by its exact version, including those of packages', async () => {
    const { stdout } = await run(process.execPath, ['scripts/digests.mjs', '--list']);
    const images = stdout.trim().split('\n');
    assert.ok(images.some(image => image.startsWith('python:')));
    for (const image of images) assert.match(image, /^[a-z/]+:v?\d+\.\d+\.\d+(-[a-z-]+)?$/);
  });

  test('give the passwords of Redis and Qdrant to these and the hub only', async () => {
    const services = (await config())('services');
    assert.ok(isObject(services));
    for (const [volume, holders] of [
      ['redis-key', ['hub', 'keys', 'redis']],
      ['qdrant-key', ['hub', 'keys', 'qdrant']],
    ] as const) {
      const found: readonly [string, unknown][] = Object.entries(services).filter(([, service]) =>
        JSON.stringify(part(service)('volumes') ?? []).includes(`"${volume}"`),
      );
      assert.deepEqual(found.map(entry => entry[0]).toSorted(), holders);
    }
  });

  test('start Qdrant with the key of its file', async () => {
    const qdrant = part((await config())('services.qdrant'));
    const words = (key: string) => {
      const list = qdrant(key);
      return Array.isArray(list) ? list.map(String) : [];
    };
    const [program = '', option = '', script = ''] = [...words('entrypoint'), ...words('command')];
    const shell = script
      .replaceAll('$$', '$')
      .replace('cat /run/agenthub-qdrant/key', 'printf "from the file"')
      .replace('./entrypoint.sh', 'env');
    const { stdout } = await run(program, [option, shell]);
    assert.match(stdout, /^QDRANT__SERVICE__API_KEY=from the file$/m);
  });

  test('publish one port, on the loopback address', async () => {
    const composition = await config();
    for (const name of ['broker', 'redis', 'qdrant', 'ollama'])
      assert.equal(composition(`services.${name}.ports`), undefined, name);
    const ports = composition('services.hub.ports');
    assert.ok(Array.isArray(ports) && ports.length === 1);
    assert.equal(part(ports[0])('host_ip'), '127.0.0.1');
    // The hub shows its own port in its address, so it must be the published one.
    const own = composition('services.hub.environment.ROUTER_PORT');
    assert.deepEqual([own, part(ports[0])('published')], [String(port), String(port)]);
    assert.equal(part(ports[0])('target'), port);
  });

  test("give the engine's socket to the broker only", async () => {
    const services = (await config())('services');
    assert.ok(isObject(services));
    const holders = Object.entries(services)
      .filter(([, service]) =>
        JSON.stringify(part(service)('volumes')).includes('/var/run/docker.sock'),
      )
      .map(([name]) => name);
    assert.deepEqual(holders, ['broker']);
    assert.equal(part(services['broker'])('network_mode'), 'none');
  });

  test('leave Qdrant and Ollama out with compose/lite.yml', async () => {
    const composition = await config('compose/lite.yml');
    const services = composition('services');
    assert.ok(isObject(services));
    assert.deepEqual(Object.keys(services).toSorted(), ['broker', 'hub', 'keys', 'redis']);
    assert.equal(composition('services.hub.environment.QDRANT_URL') ?? null, null);
    assert.equal(composition('services.hub.environment.OLLAMA_HOST') ?? null, null);
  });

  test("use the machine's Ollama with compose/host-ollama.yml", async () => {
    const composition = await config('compose/host-ollama.yml');
    assert.equal(composition('services.ollama'), undefined);
    assert.equal(composition('services.hub.environment.OLLAMA_HOST'), 'host.docker.internal');
    assert.equal(composition('services.hub.environment.OLLAMA_PULL'), 'false');
    assert.ok(composition('services.qdrant'));
  });

  test('leave it to the user whether Ollama pulls the models of the rules', async () => {
    assert.equal((await config())('services.hub.environment.OLLAMA_PULL'), 'false');
  });

  test('give broker and hub the folder of compose/mounts.yml at its own path, read-only', async () => {
    const composition = await config('compose/mounts.yml');
    assert.equal(composition('services.broker.environment.BROKER_MOUNT_ROOTS'), '/srv/agenthub');
    for (const service of ['broker', 'hub'])
      assert.match(
        JSON.stringify(composition(`services.${service}.volumes`)),
        /"source":"\/srv\/agenthub","target":"\/srv\/agenthub","read_only":true/,
      );
    assert.ok(!JSON.stringify((await config())('services.hub')).includes('/srv/agenthub'));
  });
});

describeWithEngine('docker compose up, without Qdrant and with an Ollama of the machine', () => {
  let ollama: OllamaDouble;
  let obsidian: ObsidianDouble;
  const certificates = createCertificates();
  const script = ({ model, last }: ScriptedRequest) =>
    // `coder:1b` and `critic:1b` are the models of the task.
    model === 'coder:1b'
      ? goodAnswer
      : model === 'critic:1b'
        ? goodReview
        : last?.role === 'tool'
          ? last.content
          : {
              text: '',
              toolCalls: [{ name: 'shell', arguments: { command: String(last?.content) } }],
            };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'compose-'));
    const configs = join(folder, 'configs');
    await mkdir(configs);
    const memory = {
      package: '@modelcontextprotocol/server-memory@2026.8.31',
      env: { NOTE_KEY: '${secret:NOTE_KEY}' },
      auto_start: true,
    };
    await writeFile(join(folder, 'key'), `${secrets.NOTE_KEY}\n`);
    const online = {
      image: 'node:24-bookworm-slim',
      command: 'node',
      args: ['-e', asking],
      network: { allow: ['granted.test'] },
      auto_start: true,
    };
    const servers = { memory, online, ollama: { package: 'agenthub:ollama-mcp' } };
    mountRoot = join(folder, 'shared');
    const own = certificates.createAuthority('obsidian');
    obsidian = await startObsidian(own, secrets.NOTE_KEY, '0.0.0.0');
    const documentation = {
      obsidian: {
        url: `https://host.docker.internal:${new URL(obsidian.url).port}`,
        key: '${secret:NOTE_KEY}',
        fingerprint: new X509Certificate(await readFile(own.certFile)).fingerprint256,
      },
    };
    await writeFile(
      join(configs, 'mcp-servers.json'),
      JSON.stringify({ servers, repositories: [mountRoot], documentation }),
    );
    await fillMountRoot();
    const override = join(folder, 'override.yml');
    const mount = { type: 'bind', source: configs, target: '/app/configs', read_only: true };
    const volumes = [mount];
    ollama = await startScriptedOllama({
      models: ['scripted:1b', 'coder:1b', 'critic:1b'].map(name => ({ name })),
      script,
      host: '0.0.0.0',
    });
    const environment = {
      OLLAMA_HOST: `http://host.docker.internal:${new URL(ollama.url).port}`,
      OLLAMA_MODEL: 'scripted:1b',
      OLLAMA_PULL: 'false',
    };
    const extra_hosts = ['host.docker.internal:host-gateway'];
    const hub = { volumes, environment, extra_hosts, secrets: ['NOTE_KEY'] };
    const ofProject = { NOTE_KEY: { file: join(folder, 'key') } };
    await writeFile(override, JSON.stringify({ services: { hub }, secrets: ofProject }));
    files = ['docker-compose.yml', 'compose/lite.yml', 'compose/mounts.yml', override];
    await leaveOldData();
    await compose('up', '-d', '--build', '--wait');
  }, upMs);

  /** Creates a repository and a vault of user 1000, and a vault that is not writable. */
  async function fillMountRoot(): Promise<void> {
    const repository = join(mountRoot, 'app');
    writeFiles(repository, {
      'src/a.ts': "import './b/b.ts';\n",
      'src/b/b.ts': 'export const b = 1;\n',
    });
    git(repository, 'init', '--quiet');
    git(repository, 'add', '--all');
    git(repository, 'commit', '--quiet', '--message=first');
    for (const vault of ['notes', 'locked'])
      await mkdir(join(mountRoot, vault, '.obsidian'), { recursive: true });
    await run('chown', ['-R', '1000:1000', mountRoot]);
    await chmod(join(mountRoot, 'locked'), 0o555);
  }

  /** Creates a volume with data of a Redis without a password, as an older compose file did. */
  async function leaveOldData(): Promise<void> {
    const volume = `${project}_redis-data`;
    const labels = [`project=${project}`, 'volume=redis-data', 'version=2.40.3'];
    const labelled = labels.flatMap(label => ['--label', `com.docker.compose.${label}`]);
    await docker('volume', 'create', ...labelled, volume);
    const script =
      'redis-server --dir /data --save 60 1 --daemonize yes && until redis-cli ping; do sleep 0.1; done && redis-cli --raw set older data && redis-cli shutdown save';
    await docker('run', '--rm', '--volume', `${volume}:/data`, redisImage, 'sh', '-c', script);
  }

  afterAll(async () => {
    await compose('down', '-v', '--remove-orphans').catch(() => '');
    await ollama?.[Symbol.asyncDispose]();
    await obsidian?.[Symbol.asyncDispose]();
    certificates[Symbol.dispose]();
    await docker('volume', 'rm', '-f', `${project}-memory-data`).catch(() => '');
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('the hub is healthy, also for a request from outside', async () => {
    const hub = await inspect(`${project}-hub-1`);
    assert.equal(hub('State.Health.Status'), 'healthy');
    assert.equal((await fetch(`${url}/health`)).status, 200);
  });

  test(
    'a client outside calls a tool of a server in a container of its own',
    { timeout: 180_000 },
    async () => {
      const client = new Client({ name: 'compose-test', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/memory`)));
      const entities = [{ name: 'compose', entityType: 'test', observations: ['it was here'] }];
      await client.callTool({ name: 'create_entities', arguments: { entities } }, undefined, {
        // The image of the server is built at its first start, which takes long.
        timeout: 150_000,
      });
      const graph = await client.callTool({ name: 'read_graph', arguments: {} });
      assert.match(JSON.stringify(graph), /it was here/);
      await client.close();
    },
  );

  test('a secret of the hub reaches the server by stdin, and the engine shows it nowhere', async () => {
    const server = `${project}-memory`;
    const all = 'cat /proc/[0-9]*/environ 2>/dev/null || true';
    const environments = await docker('exec', server, 'sh', '-c', all);
    assert.ok(environments.includes(`\0NOTE_KEY=${secrets.NOTE_KEY}\0`));
    const shown: unknown = await (await fetch(`${url}/servers/memory`)).json();
    assert.equal(part(shown)('secrets'), 'stdin');
    assert.deepEqual(await placesOf(secrets, server), []);
  });

  test('hub, broker and server are isolated from each other', async () => {
    const hub = await inspect(`${project}-hub-1`);
    assert.equal(hub('Config.User'), '1000:1000');
    assert.equal(hub('HostConfig.ReadonlyRootfs'), true);
    assert.deepEqual(hub('HostConfig.CapDrop'), ['ALL']);
    assert.ok(!JSON.stringify(hub('Mounts')).includes('/var/run/docker.sock'));
    const broker = await inspect(`${project}-broker-1`);
    assert.equal(broker('HostConfig.NetworkMode'), 'none');
    assert.deepEqual(broker('HostConfig.CapDrop'), ['ALL']);
    const server = await inspect(`${project}-memory`);
    assert.equal(server('HostConfig.NetworkMode'), 'none');
    assert.equal(server('HostConfig.ReadonlyRootfs'), true);
    assert.deepEqual(server('HostConfig.CapDrop'), ['ALL']);
  });

  test('an agent has its folder of the data only', { timeout: 120_000 }, async () => {
    const hub = `${project}-hub-1`;
    const key = (await docker('exec', hub, 'cat', '/app/data/owner-key')).trim();
    const ask = async (path: string, body?: object) => {
      const response = await fetch(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      assert.ok(response.ok, text);
      return text;
    };
    const say = async (command: string) => {
      const { message_id: id } = JSON.parse(
        await ask('/agents/writer/messages', { message: command }),
      );
      return await ask(`/agents/writer/messages?since=${id}&wait_seconds=100`);
    };
    assert.match(await say('echo 42 > answer; ls -a /workspace; id -u'), /answer\\n1000\\n/);
    assert.equal(await ask('/agents/writer/files/answer'), '42\n');
    const tried = await say('ls / /app; cat /workspace/../app/data/owner-key; ls /workspace/..');
    assert.doesNotMatch(tried, /owner-key\\n|session\.json/);
    const agent = await inspect(`${project}-.agent-writer`);
    const [mounted, ...others] = [agent('HostConfig.Mounts')].flat();
    assert.deepEqual(others, []);
    assert.deepEqual(part(mounted)('VolumeOptions'), {
      NoCopy: true,
      Subpath: 'agents/writer/workspace',
    });
    assert.equal(agent('HostConfig.NetworkMode'), 'none');
    // Links in the workspace must not lead to the data of the hub, also not in a new container.
    await say('rm answer; ln -s ../../../owner-key answer; ln -s /app/data data');
    await docker('rm', '-f', `${project}-.agent-writer`);
    assert.doesNotMatch(await say('cat answer data/owner-key'), new RegExp(key));
    const file = await fetch(`${url}/agents/writer/files/answer`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(file.status, 404);
    // An agent with a granted network reaches only the hosts that are allowed.
    await ask('/agents/writer/configure', { grants: { network: { allow: ['api.test'] } } });
    await say('id -u');
    await using world = await createWorld();
    await world.attach({ hubName: project });
    const reached = await say(`python3 -c '${reaching}' api.test other.test 169.254.169.254`);
    assert.match(reached, /200\\n403\\n403/);
  });

  test(
    'a repository below the mount root is documented into a vault there, and by the plugin',
    { timeout: 120_000 },
    async () => {
      const client = new Client({ name: 'compose-test', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/documentation`)));
      const document = async (vault: string) => {
        const args = {
          repo_path: join(mountRoot, 'app'),
          project_name: 'app',
          vault,
          model: 'none',
        };
        return JSON.stringify(
          await client.callTool({ name: 'document_repository', arguments: args }, undefined, {
            timeout: 100_000,
          }),
        );
      };
      assert.match(await document(join(mountRoot, 'notes')), /"created":5/);
      const notes = await readdir(join(mountRoot, 'notes', 'app'));
      assert.deepEqual(notes.toSorted(), [
        'app - Architecture.md',
        'app - Index.md',
        'app - README.md',
        'app - src - b.md',
        'app - src.md',
      ]);
      assert.match(await document('obsidian'), /"created":5/);
      assert.deepEqual(
        [...obsidian.notes.keys()].toSorted(),
        notes.map(name => `app/${name}`).toSorted(),
      );
      assert.match(
        await document(join(mountRoot, 'locked')),
        /locked: EACCES: .*The folder must be writable for its owner/,
      );
      await client.close();
    },
  );

  test(
    'a task on a repository below the mount root goes from its contract to merged',
    { timeout: 180_000 },
    async () => {
      const repository = join(mountRoot, 'app');
      const key = (await docker('exec', `${project}-hub-1`, 'cat', '/app/data/owner-key')).trim();
      const ask = async (method: string, path: string, body?: object): Promise<Inspected> => {
        const response = await fetch(`${url}/tasks${path}`, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            ...(body && { 'content-type': 'application/json' }),
          },
          ...(body && { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        assert.ok(response.ok, text);
        return part(JSON.parse(text));
      };
      const keyFile = join(folder, 'owner-key');
      await writeFile(keyFile, key, { mode: 0o600 });
      const env = { ...process.env, AGENTHUB_OWNER_KEY_FILE: keyFile };
      const cli = async (...words: readonly string[]) =>
        await run(process.execPath, [bin, ...words, '--url', url], { cwd: repository, env });
      await cli(
        'task',
        'new',
        '--target',
        'src/sum.mjs',
        '--requirement',
        'sum(a, b) returns a + b',
        '--accept',
        'node --test',
        '--implementer',
        'coder:1b',
        '--reviewer',
        'critic:1b',
      );
      const job = (await ask('POST', '/sum/run'))('job');
      // The event stream ends with the job.
      await (await fetch(`${url}/jobs/${String(job)}/events`)).text();
      const reviewed = await ask('GET', '/sum');
      assert.equal(reviewed('status'), 'pending_judge_review', String(reviewed('why')));
      await ask('POST', '/sum/judge', { verdict: 'pass' });
      assert.equal((await ask('POST', '/sum/finalize'))('status'), 'done');
      const log = git(repository, 'log', '--format=%s');
      assert.equal(log, 'Review sum\nImplement sum\nfirst');
      const { uid } = await stat(join(repository, 'src/sum.mjs'));
      assert.equal(uid, 1000, 'files keep the owner of the repository');
      const names = await docker('ps', '--all', '--format', '{{.Names}}');
      assert.doesNotMatch(names, new RegExp(`${project}-\\.gate-`));
    },
  );

  test('a server with a network reaches it through the forwarder only', async () => {
    const client = new Client({ name: 'compose-test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/online`)));
    const { content } = await client.callTool({ name: 'ask', arguments: {} });
    assert.match(JSON.stringify(content), / 403 .*AgentHub: denied\.test:80 is not in/);
    await client.close();
  });

  test(
    'the next hub adopts the forwarder of a killed hub, and its server',
    { timeout: 120_000 },
    async () => {
      const running = async () =>
        (await docker('ps', '--no-trunc', '--format', '{{.Names}} {{.ID}}'))
          .split('\n')
          .filter(line => new RegExp(`^${project}-(\\.egress|online) `).test(line))
          .toSorted();
      const before = await running();
      assert.equal(before.length, 2, await docker('ps', '--format', '{{.Names}}'));
      await docker('kill', `${project}-hub-1`);
      await compose('up', '-d', '--wait', '--no-recreate', 'hub');
      const client = new Client({ name: 'compose-test', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/online`)));
      const { content } = await client.callTool({ name: 'ask', arguments: {} });
      assert.match(JSON.stringify(content), / 403 .*AgentHub: denied\.test:80 is not in/);
      await client.close();
      assert.deepEqual(await running(), before);
    },
  );

  test('Redis requires the password, and the hub has it', async () => {
    const redis = `${project}-redis-1`;
    const ping = await docker('exec', redis, 'redis-cli', 'ping').catch(String);
    assert.match(ping, /NOAUTH/);
    const withPassword = 'REDISCLI_AUTH="$(cat /run/agenthub-redis/password)" redis-cli';
    const clients = await docker('exec', redis, 'sh', '-c', `${withPassword} client list`);
    assert.match(clients, /name=agenthub /);
    const older = await docker('exec', redis, 'sh', '-c', `${withPassword} get older`);
    assert.equal(older.trim(), 'data', 'what a Redis without a password had saved');
    assert.equal(await docker('exec', redis, 'sh', '-c', 'ls /run | grep qdrant || true'), '');
  });

  test('the hub refuses requests on the network of the stores, with any forged Host', async () => {
    const inspected = await inspect(`${project}-hub-1`);
    const networks = inspected('NetworkSettings.Networks');
    assert.ok(isObject(networks));
    const addressOn = (name: string) => String(part(networks[`${project}_${name}`])('IPAddress'));
    const dial = `
      const { connect } = require('node:net');
      for (const host of process.argv.slice(1)) {
        const socket = connect({ host, port: ${port}, timeout: 2000 });
        const say = what => { console.log(host + ' ' + what); socket.destroy(); };
        socket.on('connect', () => socket.write('GET /health HTTP/1.1\\r\\nHost: localhost:${port}\\r\\n\\r\\n'));
        socket.on('data', () => say('answered'));
        socket.on('timeout', () => say('silent'));
        socket.on('error', error => say(error.code));
      }`;
    const hosts = ['hub', addressOn('store'), addressOn('edge')];
    const dialFrom = async (network: string) =>
      await docker(
        'run',
        '--rm',
        '--network',
        `${project}_${network}`,
        'node:24-bookworm-slim',
        'node',
        '-e',
        dial,
        ...hosts,
      );
    for (const said of await Promise.all(['store', 'models'].map(dialFrom))) {
      assert.equal(said.trim().split('\n').length, hosts.length, said);
      assert.doesNotMatch(said, /answered/);
      assert.match(said, /hub ECONNREFUSED/);
    }
  });

  test('the server is shown as a part of the project', async () => {
    assert.match(await compose('ps', '--format', '{{.Service}}'), /^mcp-memory$/m);
  });

  test('the broker has refused nothing', async () => {
    const log = await compose('logs', '--no-log-prefix', 'broker');
    assert.match(log, /the broker listens/);
    assert.doesNotMatch(log, /does not admit/);
  });

  describe('and docker compose down', () => {
    test('leaves no container of the project', { timeout: 60_000 }, async () => {
      await compose('down');
      for (const label of [
        `com.docker.compose.project=${project}`,
        `io.agenthub.hub=compose-${project}`,
      ])
        assert.equal(await docker('ps', '-aq', '--filter', `label=${label}`), '', label);
    });
  });
});
