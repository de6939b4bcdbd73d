import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { Client as ClientOf2026 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOf2026 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type Cli, startCli } from '#fixtures/conformance/cli';
import {
  type Revision,
  type Run,
  type Table,
  compareTables,
  fixtureFolder,
  fixtureServer,
  problems,
  revisions,
  runSuite,
  startFixture,
} from '#fixtures/conformance/suite';
import { isObject } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub } from '#helpers/hub-process';

const clientInfo = { name: 'agenthub-tests', version: '1.0.0' };
const stdio = (...args: readonly string[]) => ({
  command: process.execPath,
  args: [fixtureServer, ...args],
});

let cli: Cli;
beforeAll(() => {
  cli = startCli();
});
afterAll(async () => await cli[Symbol.asyncDispose]());

/** Runs of the suite directly against the fixture, by revision. Runs through the hub are compared with them. */
const directRuns = new Map<Revision, Promise<Run>>();

function runDirectly(revision: Revision): Promise<Run> {
  const run = directRuns.get(revision) ?? runOnFixture(revision);
  directRuns.set(revision, run);
  return run;
}

async function runOnFixture(revision: Revision): Promise<Run> {
  await using fixture = await startFixture();
  return await runSuite(cli, fixture.url, revision);
}

const accepted = { action: 'accept' as const, content: { username: 'ada', email: 'a@b.c' } };

describe('the conformance fixture reached directly', () => {
  test.for(revisions)('passes all checks of %s', { timeout: 120_000 }, async revision => {
    const { exitCode, table, output } = await runDirectly(revision);
    assert.deepEqual(problems(table), [], output);
    assert.equal(exitCode, 0, output);
    const required = [...table.values()].filter(scenario => scenario.required);
    assert.equal(required.length, revision === '2025-11-25' ? 30 : 37);
    for (const [name, { passed }] of table)
      // The suite has no checks for this scenario yet.
      if (name !== 'tasks-status-notifications') assert.ok(passed > 0, `${name} shows nothing`);
  });

  test('speaks 2025-11-25 over stdio with the official client', async () => {
    const client = new Client(clientInfo, { capabilities: { sampling: {}, elicitation: {} } });
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      role: 'assistant',
      model: 'none',
      content: { type: 'text', text: `${params.maxTokens} tokens at most` },
    }));
    client.setRequestHandler(ElicitRequestSchema, () => accepted);
    await client.connect(new StdioClientTransport(stdio()));
    try {
      assert.match(
        await textOf(client.callTool({ name: 'test_sampling', arguments: { prompt: 'Hi' } })),
        /LLM response: 100 tokens at most/,
      );
      assert.match(
        await textOf(client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } })),
        /"username\\*":\\*"ada/,
      );
    } finally {
      await client.close();
    }
  });

  test('speaks 2026-07-28 over stdio with the official client', async () => {
    const client = new ClientOf2026(clientInfo, {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: { elicitation: {} },
    });
    client.setRequestHandler('elicitation/create', () => accepted);
    await client.connect(new StdioOf2026(stdio('--era', '2026')));
    try {
      assert.match(
        await textOf(client.callTool({ name: 'test_elicitation', arguments: { message: 'Who?' } })),
        /"username\\*":\\*"ada/,
      );
    } finally {
      await client.close();
    }
  });

  test('refuses an era that it is configured not to speak', async () => {
    const old = new Client(clientInfo);
    await assert.rejects(
      old.connect(new StdioClientTransport(stdio('--era', '2026'))),
      /2025-11-25 is not supported/,
    );
    await old.close();
    const pinned = new ClientOf2026(clientInfo, {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    await assert.rejects(pinned.connect(new StdioOf2026(stdio('--era', '2025'))));
    await pinned.close();
  });
});

describeWithEngine('the conformance fixture behind the hub', () => {
  const entry = {
    image: 'node:24-bookworm-slim',
    command: 'node',
    args: ['/conformance/server.mjs'],
    mounts: [`${fixtureFolder}:/conformance`],
    auto_start: true,
  };
  let hub: HubProcess;

  beforeAll(async () => {
    const servers = {
      legacy: { ...entry, era: 'legacy' },
      own: {
        // Each scenario opens sessions, so this server starts about 30 times. Containers of sessions have their own
        // test.
        ...stdio(),
        runtime: 'process',
        era: 'legacy',
        auto_start: true,
        instance: 'session',
        max_instances: 100,
      },
      newest: entry,
    };
    hub = await startHub({
      config: { servers },
      env: { HUB_NAME: `conformance-${process.pid}` },
    });
    const states = new Set(Object.values(await settled(hub, 60_000)));
    assert.deepEqual([...states], ['running'], hub.log());
  }, 90_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  }, 60_000);

  test('a server that speaks both eras is used in the newest', async () => {
    const newest = await getJson(hub, '/servers/newest');
    assert.ok(isObject(newest));
    assert.equal(newest['era'], 'modern');
  });

  /** Passes if all required scenarios pass, and nothing fails or warns that does not in a direct run. */
  const isNoWorse = async (server: string, revision: Revision) => {
    const direct = await runDirectly(revision);
    assert.equal(direct.exitCode, 0, direct.output);
    const through = await runSuite(cli, `${hub.url}/mcp/${server}`, revision);
    assert.equal(through.exitCode, 0, through.output);
    assert.deepEqual(
      problems(through.table, scenario => scenario.required),
      [],
    );
    const { worse, weaker } = compareTables(direct.table, through.table);
    assert.deepEqual(worse, []);
    return weaker;
  };

  /** These checks need a stream, but the hub answers a quick call with JSON. */
  const needStreams = /^server-sse-(multiple-streams|polling): /;

  test.for(['legacy', 'own', 'newest'])(
    'passes all checks of 2025-11-25 that it passes directly, as %s',
    { timeout: 120_000 },
    async server => {
      const weaker = await isNoWorse(server, '2025-11-25');
      assert.deepEqual(
        weaker.filter(line => !needStreams.test(line)),
        [],
      );
    },
  );

  test(
    'passes all checks of 2026-07-28 that it passes directly',
    { timeout: 120_000 },
    async () => {
      assert.deepEqual(await isNoWorse('newest', '2026-07-28'), []);
    },
  );
});

describe('comparing two runs', () => {
  const table = (...checks: readonly (readonly [string, string])[]): Table =>
    new Map([
      [
        'a-scenario',
        {
          required: true,
          passed: 0,
          failed: 0,
          warned: 0,
          checks: checks.map(([id, status]) => ({ id, name: id, status, errorMessage: 'why' })),
        },
      ],
    ]);

  test('distinguishes failed checks from missing details', () => {
    const direct = table(['one', 'SUCCESS'], ['one', 'SUCCESS'], ['two', 'WARNING']);
    assert.deepEqual(compareTables(direct, direct), { worse: [], weaker: [] });
    assert.deepEqual(
      compareTables(direct, table(['one', 'SUCCESS'], ['one', 'FAILURE'], ['two', 'WARNING'])),
      { worse: ['a-scenario: one: why'], weaker: [] },
    );
    assert.deepEqual(compareTables(direct, table(['one', 'SUCCESS'], ['one', 'INFO'])), {
      worse: [],
      weaker: ['a-scenario: one: 1 of 2 checks pass'],
    });
  });

  test('counts a scenario that was not run as worse', () => {
    const { worse } = compareTables(table(['one', 'SUCCESS']), new Map());
    assert.deepEqual(worse, ['a-scenario: was not run']);
  });
});

async function textOf(result: Promise<unknown>): Promise<string> {
  return JSON.stringify(await result);
}
