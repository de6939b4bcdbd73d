import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadConfig, warningsOf } from '#config';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub, states, until } from '#helpers/hub-process';
import { isLong } from '#helpers/length';
import { createHub, docker } from '../runtimes/docker/hub.ts';

const examples = join(import.meta.dirname, '../../examples');
const files = globSync(['*.json', '*/*.json'], { cwd: examples }).sort();

/** Returns the servers of a recipe, set to start with the hub. */
function entriesOf(file: string): Readonly<Record<string, object>> {
  const { servers }: { servers: Record<string, object> } = JSON.parse(
    readFileSync(join(examples, file), 'utf8'),
  );
  return Object.fromEntries(
    Object.entries(servers).map(([name, entry]) => [name, { ...entry, auto_start: true }]),
  );
}

const load = (file: string) =>
  loadConfig(file, {
    env: { AGENTHUB_REPOSITORY: '/repository', REMOTE_URL: 'https://mcp.example.com/mcp' },
    secrets: async names => new Map(names.map(name => [name, { value: 'x' }])),
    home: '/home/user',
  });

test('the examples of docs/servers.md are configs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recipes-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  const text = readFileSync(join(examples, '../docs/servers.md'), 'utf8');
  const found = [...text.matchAll(/```json\n([\s\S]*?)```/g)];
  assert.ok(found.length > 6);
  for (const [, config = ''] of found) {
    await writeFile(join(folder, 'mcp-servers.json'), config);
    assert.ok((await load(join(folder, 'mcp-servers.json'))).servers.length > 0);
  }
});

describe('recipes', () => {
  test.for(files)('%s is a config without warnings, and is named in the README', async file => {
    const config = await load(join(examples, file));
    assert.ok(config.servers.length > 0);
    assert.deepEqual(warningsOf(config), []);
    for (const { description, launch } of config.servers) {
      assert.ok(description);
      if (launch.kind === 'local' && launch.build) assert.ok('digest' in launch.build);
    }
    const readme = readFileSync(join(examples, 'README.md'), 'utf8');
    assert.ok(readme.includes(`(${file})`), 'a line of the README links to it');
  });
});

/** Starts a remote server that answers only requests for which `admits` returns true. */
async function startRemote(admits: (request: IncomingMessage) => boolean) {
  const http = createServer((request, response) => {
    void (async () => {
      if (!admits(request)) return response.writeHead(401).end();
      const server = new McpServer({ name: 'remote', version: '1.0.0' });
      server.registerTool('hello', {}, async () => ({ content: [{ type: 'text', text: 'hi' }] }));
      const transport = new StreamableHTTPServerTransport({});
      await server.connect(transport);
      return await transport.handleRequest(request, response);
    })();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  assert.ok(isObject(address));
  return {
    url: `http://127.0.0.1:${String(address['port'])}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
    },
  };
}

const wordsOf = async (hub: HubProcess, server: string, tool: string, args: object = {}) => {
  await using client = await connect(`${hub.url}/mcp/${server}`);
  return String(await client.call(tool, { ...args }));
};

test('the recipes of remote servers send the token, and ask for a login where one is needed', async () => {
  await using remote = await startRemote(({ headers }) => headers.authorization === 'Bearer right');
  const folder = await mkdtemp(join(tmpdir(), 'recipes-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  await writeFile(join(folder, 'REMOTE_TOKEN'), 'right');
  // A server that accepts the token, and one that requires a login.
  const servers = { ...entriesOf('remote-token.json'), ...entriesOf('remote-oauth.json') };
  await using hub = await startHub({
    config: { servers },
    env: { REMOTE_URL: remote.url, AGENTHUB_SECRETS_DIR: folder },
  });
  await until(
    () => states(hub),
    now => now['remote-token'] === 'running' && now['remote-oauth'] === 'needs_login',
    20_000,
  );
  assert.equal(await wordsOf(hub, 'remote-token', 'hello'), 'hi');
});

if (isLong)
  describeWithEngine('recipes that run in containers', () => {
    const hubName = `recipes-${process.pid}`;
    let folder = '';
    let hub: HubProcess;
    let project = '';

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'recipes-'));
      await chmod(folder, 0o755);
      project = join(folder, 'hello-server');
      await cp(join(examples, 'python-project/hello-server'), project, { recursive: true });
      const url = 'postgres://ada:secret@postgres.example.com:5432/notes?sslmode=disable';
      await writeFile(join(folder, 'POSTGRES_URL'), url);
      const repository = join(folder, 'repository');
      const git = (...args: readonly string[]) => execFileSync('git', ['-C', repository, ...args]);
      execFileSync('git', ['init', '-q', repository]);
      git(
        '-c',
        'user.name=Ada',
        '-c',
        'user.email=ada@example.com',
        'commit',
        '-q',
        '--allow-empty',
        '-m',
        'The first commit',
      );
      const servers = {
        ...entriesOf('git.json'),
        ...entriesOf('sqlite.json'),
        ...entriesOf('playwright.json'),
        ...entriesOf('postgres.json'),
        hello: { build: project, auto_start: true },
      };
      hub = await startHub({
        config: { servers },
        env: {
          HUB_NAME: hubName,
          AGENTHUB_REPOSITORY: repository,
          AGENTHUB_SECRETS_DIR: folder,
        },
      });
      await settled(hub, 600_000);
    }, 620_000);

    afterAll(async () => {
      await hub?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
      await docker.getVolume(`${hubName}-sqlite`).remove();
    });

    test('git reads the repository', async () => {
      const log = await wordsOf(hub, 'git', 'git_log', { repo_path: '/repository' });
      assert.match(log, /The first commit/);
    });

    test('sqlite keeps what it writes', async () => {
      await wordsOf(hub, 'sqlite', 'create_table', { query: 'CREATE TABLE notes (text)' });
      assert.match(await wordsOf(hub, 'sqlite', 'list_tables'), /notes/);
    });

    test('playwright opens a page in Chromium', async () => {
      const url = 'data:text/html,<title>Notes</title><h1>Hi</h1>';
      assert.match(await wordsOf(hub, 'playwright', 'browser_navigate', { url }), /Notes/);
    });

    test("a Python project of one's own answers", async () => {
      assert.equal(await wordsOf(hub, 'hello', 'hello', { name: 'Ada' }), 'Hello, Ada!');
    });

    // The image of the database is built first.
    test('postgres reads a database', { timeout: 300_000 }, async () => {
      await using made = new AsyncDisposableStack();
      await startPostgres(`${hubName}-.egress`, made);
      await fetch(`${hub.url}/servers/postgres/restart`, {
        method: 'POST',
        headers: hub.ownerHeaders,
      });
      await until(
        () => states(hub),
        ({ postgres }) => postgres === 'running',
        60_000,
      );
      const about = await getJson(hub, '/servers/postgres');
      const sql = 'SELECT text FROM notes';
      assert.match(
        await wordsOf(hub, 'postgres', 'execute_sql', { sql }),
        /a note/,
        JSON.stringify(about),
      );
    });
  });

/** Starts PostgreSQL under the host name of the recipe, in a network that only the hub's forwarder joins too. */
async function startPostgres(forwarder: string, made: AsyncDisposableStack): Promise<void> {
  const builder = createHub();
  made.use(builder);
  const image = { reference: 'debian:trixie-slim', systemPackages: ['postgresql'] };
  const { image: Image } = await builder.build(builder.spec('postgres', { image }));
  assert.ok(typeof Image === 'string');
  const network = await docker.createNetwork({ Name: `postgres-${randomUUID()}`, Internal: true });
  made.defer(async () => void (await network.remove()));
  const setup = [
    'cluster=/etc/postgresql/*/main',
    'echo "host all all all scram-sha-256" >> $(echo $cluster)/pg_hba.conf',
    'echo "listen_addresses = \'*\'" >> $(echo $cluster)/postgresql.conf',
    'service postgresql start',
    `su postgres -c "psql -c \\"CREATE USER ada PASSWORD 'secret'\\" -c 'CREATE DATABASE notes OWNER ada'"`,
    `su postgres -c "psql notes -c 'CREATE TABLE notes (text text)' -c \\"INSERT INTO notes VALUES ('a note')\\" -c 'GRANT SELECT ON notes TO ada'"`,
    'echo ready; sleep infinity',
  ].join('\n');
  const container = await docker.createContainer({
    Image,
    Entrypoint: ['/bin/sh', '-c', setup],
    HostConfig: { NetworkMode: network.id },
    NetworkingConfig: { EndpointsConfig: { [network.id]: { Aliases: ['postgres.example.com'] } } },
  });
  made.defer(async () => void (await container.remove({ force: true })));
  await container.start();
  await network.connect({ Container: forwarder });
  made.defer(async () => void (await network.disconnect({ Container: forwarder, Force: true })));
  await until(
    async () => (await container.logs({ stdout: true, stderr: true })).toString(),
    text => text.includes('ready'),
    60_000,
  );
}
