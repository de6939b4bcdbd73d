import assert from 'node:assert/strict';
import { join } from 'node:path';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { connectEra, eras, refusal } from '#helpers/eras';
import { type TestHub, startHub, until } from '#helpers/hub';

const method = 'notifications/tools/list_changed';

describe.for(['server-2025.mjs', 'server-2026.mjs'])(
  'the clients of the official SDKs behind the hub, at %s',
  file => {
    test('are notified of each list_changed of the server, even if its list is the same', async () => {
      const clock = createManualClock();
      await using hub = await startHub([{ name: 'fixture', file: `../eras/${file}` }], { clock });
      // By then the notification about the server's first lists was sent.
      clock.advance(1_000);
      await using stack = new AsyncDisposableStack();
      const clients = await Promise.all(
        ['/mcp', '/mcp/fixture'].flatMap(path =>
          (['2025', '2026'] as const).map(async era => {
            const client = stack.use(await connectEra(era, `${hub.url}${path}`));
            await client.subscribe();
            return client;
          }),
        ),
      );
      const before = await Promise.all(clients.map(client => client.toolNames()));
      const [caller] = clients;
      assert.equal(await caller?.call('fixture_announce_same'), 'announced');
      await until(() => {
        clock.advance(1_000);
        return clients.every(({ heard }) => heard.some(told => told.method === method));
      });
      assert.deepEqual(await Promise.all(clients.map(client => client.toolNames())), before);
    });
  },
);

const eraFixtures = join(import.meta.dirname, '../fixtures/eras');

/** Returns the tools that a client of 2025-11-25 of SDK v1 lists, and the results of all of them. */
async function givenTo(
  transport: StdioClientTransport | HttpV1,
  prefix = '',
): Promise<{ readonly tools: unknown; readonly results: unknown }> {
  const client = new ClientV1({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  try {
    // The client validates structured content against the tool's output schema.
    const { tools } = await client.listTools();
    const results = await Promise.all(
      tools.map(async ({ name }) => {
        const { content, structuredContent } = await client.callTool({ name });
        return { content, structuredContent };
      }),
    );
    return {
      tools: tools.map(tool => ({ ...tool, name: tool.name.slice(prefix.length) })),
      results,
    };
  } finally {
    await client.close();
  }
}

test('a client of 2025 gets the schemas and results of a server of 2026 as the SDK converts them', async () => {
  const args = [join(eraFixtures, 'schemas-2026.mjs')];
  const command = { command: process.execPath, args, env: { LEGACY: 'serve' } };
  const directly = await givenTo(new StdioClientTransport(command));
  await using hub = await startHub([{ name: 'fixture', file: '../eras/schemas-2026.mjs' }]);
  assert.equal(hub.server('fixture').running?.serverInfo.era, 'modern');
  const at = (path: string) => new HttpV1(new URL(`${hub.url}${path}`));
  assert.deepEqual(await givenTo(at('/mcp/fixture')), directly);
  assert.deepEqual(await givenTo(at('/mcp'), 'fixture_'), directly);
  assert.match(JSON.stringify(directly), /"structuredContent":\{"result":\[1,2,3\]\}/);
});

test('a client of 2026 gets them unchanged', async () => {
  await using hub = await startHub([{ name: 'fixture', file: '../eras/schemas-2026.mjs' }]);
  for (const [path, prefix] of [
    ['/mcp', 'fixture_'],
    ['/mcp/fixture', ''],
  ] as const) {
    const client = new ClientV2(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(new HttpV2(new URL(`${hub.url}${path}`)));
    const { tools } = await client.listTools();
    assert.deepEqual(tools[0]?.outputSchema, { type: 'array', items: { type: 'number' } });
    const { structuredContent } = await client.callTool({ name: `${prefix}numbers` });
    assert.deepEqual(structuredContent, [1, 2, 3]);
    await client.close();
  }
});

describe.for(['legacy', 'modern'])('of a %s server with items that strict clients refuse', era => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'misfits', env: { ERA: era } }]);
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });

  test.for(eras)('a client of %s is listed the others on /mcp', async revision => {
    await using client = await connectEra(revision, `${hub.url}/mcp`);
    // Since 2026-07-28 a property in a schema may be any JSON Schema.
    const required = revision === '2026' ? ['misfits_null_required'] : [];
    assert.deepEqual(await client.toolNames(), ['misfits_first', ...required, 'misfits_last']);
    assert.deepEqual(await client.resourceUris(), ['hub://servers', 'test://first', 'test://last']);
    assert.deepEqual(await client.promptNames(), ['misfits_first', 'misfits_last']);
    assert.equal(await client.call('misfits_no_schema'), 'no_schema', 'may be called all the same');
  });

  test.for(eras)(
    'a client of %s is given all on /mcp/misfits, as it is directly',
    async revision => {
      await using client = await connectEra(revision, `${hub.url}/mcp/misfits`);
      const lists = [client.toolNames(), client.resourceUris(), client.promptNames()];
      for (const list of lists) assert.match((await refusal(list)).message, /nvalid/);
    },
  );

  test('each is named in /servers, on the dashboard and in the log, with what is wrong', async () => {
    const found: unknown = await (await fetch(`${hub.url}/servers/misfits`)).json();
    const leftOut = isObject(found) ? found['left_out'] : undefined;
    const every = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
    const why = (list: string, name: string | undefined, what: string, revisions = every) => ({
      list,
      ...(name !== undefined && { name }),
      why: [what],
      revisions,
    });
    assert.deepEqual(leftOut, [
      why('tools', 'no_schema', 'inputSchema is missing; it must be an object'),
      why('tools', 'empty_schema', 'inputSchema.type is missing; it must be "object"'),
      why('tools', 'null_description', 'description is null; it must be a string'),
      why('tools', 'null_annotations', 'annotations is null; it must be an object', every.slice(1)),
      why(
        'tools',
        'null_required',
        'inputSchema.required is null; it must be an array',
        every.slice(0, -1),
      ),
      why('resources', 'test://nameless', 'name is missing; it must be a string'),
      why('resources', 'test://null-type', 'mimeType is null; it must be a string'),
      why('resourceTemplates', 'test://null-type/{id}', 'mimeType is null; it must be a string'),
      why('prompts', 'null_arguments', 'arguments is null; it must be an array'),
      why('prompts', undefined, '1 has no name'),
    ]);
    const page = await (await fetch(`${hub.url}/dashboard/servers/misfits`)).text();
    assert.match(
      page,
      /Left out of the lists on \/mcp.*tools &quot;no_schema&quot;: inputSchema is/,
    );
    const logged = hub.logged.filter(({ message }) => message.startsWith('items are left out'));
    assert.deepEqual(
      logged.flatMap(({ fields }) => ('left_out' in fields ? fields.left_out : [])),
      leftOut,
    );
  });
});
