import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, test } from 'vitest';
import { createEmitter, isObject } from '#core';
import { describeWithBrowser, visit } from '#helpers/browser';
import { type SdkClient, connect, sdkVersions } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, startHub } from '#helpers/hub-process';
import { removeVolumes } from '#helpers/volumes';
import { type Registered, type RegistryDouble, startRegistry } from '../doubles/mcp-registry.ts';

const bin = join(import.meta.dirname, '..', '..', 'bin', 'agenthub.mjs');
const buildMs = 240_000;
const name = '@modelcontextprotocol/server-everything';
const [before, after] = [`${name}@2025.9.25`, `${name}@2026.8.31`];

/** Calls that continue until they are stopped. */
type Load = {
  /** Resolves after `calls` further answers. Rejects with the first failure. */
  readonly more: (calls: number) => Promise<void>;
  /** Stops the calls. Resolves with the number of answers if none failed. */
  readonly stop: () => Promise<number>;
};

describeWithEngine('a package of npm', () => {
  let hub: HubProcess;
  let registry: RegistryDouble;
  const clients: SdkClient[] = [];

  beforeAll(async () => {
    registry = await startRegistry([registered, registeredMemory]);
    const everything = { package: before, auto_start: true };
    hub = await startHub({
      config: { servers: { everything }, catalog: { url: registry.url } },
      env: { HUB_NAME: 'package-upgrade' },
    });
    for (const version of sdkVersions) clients.push(await connect(`${hub.url}/mcp`, version));
    const started = await post('/servers/everything/start');
    assert.equal(started.status, 200, hub.log());
  }, buildMs);

  afterAll(async () => {
    await Promise.all(clients.map(async client => await client[Symbol.asyncDispose]()));
    await hub?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    await removeVolumes('package-upgrade');
  });

  /** Runs an `agenthub` command as the hub's user. Resolves with its stdout. */
  async function agenthub(...words: readonly string[]) {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [bin, ...words, '--url', hub.url],
      { env: { ...process.env, DATA_DIR: hub.dataDir } },
    );
    return stdout;
  }

  async function post(path: string, body?: object) {
    const response = await fetch(`${hub.url}${path}`, {
      method: 'POST',
      headers: { ...hub.ownerHeaders, 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
    const answer: unknown = await response.json();
    assert.ok(isObject(answer));
    return { status: response.status, answer };
  }

  async function get(path: string) {
    const response = await fetch(`${hub.url}${path}`, { headers: hub.ownerHeaders });
    const answer: unknown = await response.json();
    assert.ok(isObject(answer), JSON.stringify(answer));
    return answer;
  }

  /** Lets each client make two calls at a time of a tool that both versions have, until stopped. */
  function load(): Load {
    let isOver = false;
    let calls = 0;
    const answered = createEmitter<undefined>();
    const run = async (client: SdkClient) => {
      while (!isOver) {
        const message = `call ${++calls}`;
        assert.match(await client.call('everything_echo', { message }), /^Echo: call \d+$/);
        answered.fire(undefined);
      }
    };
    const running = Promise.all([...clients, ...clients].map(run));
    running.catch(() => {}); // `more` and `stop` reject with the same error.
    return {
      async more(wanted) {
        const reached = Promise.withResolvers<void>();
        let left = wanted;
        using _ = answered.event(() => {
          if (--left === 0) reached.resolve();
        });
        await Promise.race([reached.promise, running]);
      },
      async stop() {
        isOver = true;
        await running;
        return calls;
      },
    };
  }

  /** Calls a tool that asks the user a question, and continues as long as the user does not answer. */
  async function callThatAsks(tool: string) {
    const asked = Promise.withResolvers<void>();
    const answering = Promise.withResolvers<void>();
    const client = new Client(
      { name: 'agenthub-tests', version: '1.0.0' },
      { capabilities: { elicitation: {} } },
    );
    client.setRequestHandler(ElicitRequestSchema, async () => {
      asked.resolve();
      await answering.promise;
      return { action: 'decline' };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`)));
    const called = client.callTool({ name: tool, arguments: {} });
    await Promise.race([asked.promise, called]);
    return {
      async answer() {
        answering.resolve();
        const result = JSON.stringify(await called);
        await client.close();
        return result;
      },
    };
  }

  /** Makes a change under load, with a call in flight that ends after the change. Returns the result of that call. */
  async function underLoad(tool: string, change: () => Promise<void>): Promise<string> {
    // This call comes first: with other calls in flight, the hub could not tell which client the server asks.
    const inFlight = await callThatAsks(tool);
    const loaded = load();
    await loaded.more(20);
    await change();
    await loaded.more(20);
    const result = await inFlight.answer();
    assert.ok((await loaded.stop()) >= 40);
    return result;
  }

  const names = (list: unknown, change: string) =>
    Array.isArray(list)
      ? list.flatMap(one =>
          isObject(one) && one['kind'] === 'tool' && one['change'] === change
            ? String(one['name'])
            : [],
        )
      : [];

  const packageNow = async () =>
    /"package":\s*"([^"]+)"/.exec(await readFile(hub.configFile, 'utf8'));

  test(
    'has a newer version, which a dry run shows, and which is accepted by its digest only',
    { timeout: buildMs },
    async () => {
      const listed = await get('/upgrades');
      assert.ok(Array.isArray(listed['servers']) && isObject(listed['servers'][0]));
      assert.equal(listed['servers'][0]['state'], 'outdated');
      const version = after.slice(name.length + 1);
      const { status, answer: plan } = await post('/servers/everything/upgrade', {
        version,
        dry_run: true,
      });
      assert.equal(status, 200, JSON.stringify(plan));
      assert.deepEqual([plan['from'], plan['to'], plan['done']], [before, after, false]);
      assert.deepEqual(names(plan['definitions'], 'changed'), ['echo']);
      assert.ok(names(plan['definitions'], 'added').includes('get-sum'));
      assert.ok(names(plan['definitions'], 'removed').includes('add'));
      assert.deepEqual(plan['permissions'], { before: [], after: [], added: [], removed: [] });
      const unseen = await post('/servers/everything/upgrade', { version });
      assert.deepEqual([unseen.status, codeIn(unseen.answer)], [409, 'HUB_CONFIRMATION_NEEDED']);
      assert.equal((await packageNow())?.[1], before, 'nothing was changed');

      const long = await underLoad('everything_startElicitation', async () => {
        const done = await post('/servers/everything/upgrade', { version, accept: plan['digest'] });
        assert.equal(done.answer['done'], true, JSON.stringify(done.answer));
      });
      assert.match(long, /User declined/, 'it ended on the old version');
      assert.equal((await packageNow())?.[1], after);
      for (const client of clients) {
        const tools = await client.toolNames();
        assert.ok(tools.includes('everything_get-sum') && !tools.includes('everything_add'));
      }
      const pins = await get('/pins/everything');
      assert.deepEqual(pins['deviations'], [], 'what was accepted is pinned');
    },
  );

  test(
    'returns to the version before by a rollback, whose image prune keeps',
    { timeout: buildMs },
    async () => {
      const dry = await post('/prune', { dry_run: true });
      assert.doesNotMatch(JSON.stringify(dry.answer), /server-everything/);
      const long = await underLoad('everything_trigger-elicitation-request', async () => {
        const done = await post('/servers/everything/rollback');
        assert.deepEqual(done.answer, { name: 'everything', from: after, to: before });
      });
      assert.match(long, /declined/);
      assert.equal((await packageNow())?.[1], before);
      const pins = await get('/pins/everything');
      assert.deepEqual(pins['deviations'], []);
      const again = await post('/servers/everything/rollback');
      assert.deepEqual([again.status, codeIn(again.answer)], [400, 'HUB_REQUEST_INVALID']);
      const found = JSON.stringify((await post('/prune', { dry_run: true })).answer);
      assert.match(found, /server-everything:2026\.8\.31/, 'nothing needs the newer one now');
      assert.doesNotMatch(found, /server-everything:2025\.9\.25/);
    },
  );

  describeWithBrowser('on the dashboard', () => {
    test('is upgraded and rolled back by clicks', { timeout: buildMs }, async () => {
      const options = { baseURL: hub.url, extraHTTPHeaders: hub.ownerHeaders };
      const wait = { timeout: buildMs };
      await visit(options, async page => {
        const text = async () => await page.getByRole('main').innerText();
        await page.goto('/dashboard');
        await page.getByRole('link', { name: 'Versions' }).click();
        await page.getByRole('button', { name: 'Try 2026.8.31 of everything' }).click();
        await page.getByRole('heading', { name: 'Upgrade everything?' }).waitFor(wait);
        assert.match(await text(), /tool get-sum\s+added/);
        assert.match(await text(), /tool add\s+removed/);
        assert.equal((await packageNow())?.[1], before, 'nothing is changed yet');

        await page.getByRole('button', { name: 'Upgrade everything' }).click();
        await page.getByText('Upgraded everything.').waitFor(wait);
        assert.equal((await packageNow())?.[1], after);
        assert.match(await text(), /running[^]*get-sum/);

        await page.goto('/dashboard/versions');
        assert.match(await text(), /2026\.8\.31\s+2026\.8\.31\s+up to date/);
        const back = page.getByRole('button', { name: `Roll everything back to ${before}` });
        await back.click();
        await page.getByText('Rolled everything back.').waitFor(wait);
        assert.equal((await packageNow())?.[1], before);
        assert.match(await text(), /running[^]*add/);
      });
      const [client] = clients;
      assert.ok((await client?.toolNames())?.includes('everything_add'));
    });
  });

  test('a server of the catalog is installed in a container, with a secret that is in no file', async () => {
    const value = 'a-value-of-the-user';
    const body = { server: registered.server.name, name: 'fresh', env: { DEMO_KEY: value } };
    const { status, answer } = await post('/catalog/install', body);
    assert.equal(status, 201, JSON.stringify(answer));
    assert.deepEqual(answer['secrets'], ['FRESH_DEMO_KEY']);
    const written = await readFile(hub.configFile, 'utf8');
    assert.match(written, /"DEMO_KEY": "\$\{secret:FRESH_DEMO_KEY\}"/);
    assert.ok(written.includes(after), 'the exact version');
    const [client] = clients;
    assert.ok((await client?.call('fresh_get-env'))?.includes(value));
    assert.ok(!written.includes(value) && !hub.log().includes(value));
    const { instance } = await get('/servers/fresh');
    assert.match(JSON.stringify(instance), /"containerName":"package-upgrade-fresh"/);
  });

  test('the command line installs a server of the catalog that asks for nothing', async () => {
    const out = await agenthub('install', 'io.github.someone/postgres');
    assert.match(out, /^installed postgres/m);
    assert.match(await readFile(hub.configFile, 'utf8'), /server-memory@2026\.8\.31/);
  });
});

/** Registry entry of the newer version. */
const registered: Registered = {
  server: {
    name: 'io.github.modelcontextprotocol/everything',
    description: 'Everything.',
    version: '2026.8.31',
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version: '2026.8.31',
        transport: { type: 'stdio' },
        environmentVariables: [{ name: 'DEMO_KEY', isRequired: true, isSecret: true }],
      },
    ],
  },
};

/** Registry entry under the name that the documentation uses. */
const registeredMemory: Registered = {
  server: {
    name: 'io.github.someone/postgres',
    description: 'Remembers, for postgres.',
    version: '2026.8.31',
    packages: [
      {
        registryType: 'npm',
        identifier: '@modelcontextprotocol/server-memory',
        version: '2026.8.31',
        transport: { type: 'stdio' },
      },
    ],
  },
};

const codeIn = ({ error }: Readonly<Record<string, unknown>>) =>
  isObject(error) ? error['code'] : undefined;
