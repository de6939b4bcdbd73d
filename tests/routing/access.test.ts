import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { PolicyRule } from '#config';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { type Principal, withProfile } from '#policy';
import type { Endpoint } from '#routing';
import type { Server, Servers } from '#servers';
import { createAccess } from '../../hub/routing/access.ts';
import { createClientInstances } from '../../hub/routing/client-instances.ts';
import { openAsked } from './asking.ts';
import { openModern } from './modern.ts';
import { createScriptedNeeds } from './scripted-needs.ts';
import { createScriptedServer } from './scripted-server.ts';
import { createTestAccess } from './test-access.ts';

const files = { name: 'files' };
const cursor: Principal = { kind: 'client', name: 'cursor', grants: { administer: false } };
const other: Principal = { kind: 'local', name: 'owner', grants: { administer: true } };

type Ask = (method: string, params?: object) => Promise<{ readonly [name: string]: unknown }>;
type Opened = { readonly ask: Ask; readonly told: readonly { readonly [name: string]: unknown }[] };
type Era = 'legacy' | 'modern';

async function open(
  hub: TestHub,
  era: Era,
  endpoint: Endpoint,
  principal = cursor,
): Promise<Opened> {
  if (era === 'modern') return openModern(hub, endpoint, {}, undefined, principal);
  const client = openAsked(hub, endpoint, undefined, principal);
  await client.initialize({});
  return client;
}

const lists = {
  tools: ['tools/list', 'name'],
  resources: ['resources/list', 'uri'],
  resourceTemplates: ['resources/templates/list', 'uriTemplate'],
  prompts: ['prompts/list', 'name'],
} as const;

async function listed({ ask }: Opened, member: keyof typeof lists): Promise<readonly unknown[]> {
  const [method, key] = lists[member];
  const { result, error } = await ask(method);
  const items = isObject(result) ? result[member] : undefined;
  return Array.isArray(items)
    ? items
        .map((item: unknown) => (isObject(item) ? item[key] : undefined))
        .filter(name => name !== 'hub://servers')
    : assert.fail(JSON.stringify(error));
}

/** Returns the message and data of the error; undefined if the request succeeded. */
async function refusalOf({ ask }: Opened, method: string, params: object) {
  const { error } = await ask(method, params);
  return isObject(error) ? { message: error['message'], data: error['data'] } : undefined;
}

const denied = (what: string, reason?: string, rule = 'policy[0]') => ({
  message: `policy denies ${what} to cursor${reason === undefined ? '' : `: ${reason}`}`,
  data: { code: 'HUB_POLICY_DENIED', rule, ...(reason !== undefined && { reason }) },
});

const combinations = (['legacy', 'modern'] as const).flatMap(era =>
  (['all', 'files'] as const).map(endpoint => [era, endpoint] as const),
);

const tools = ['read_file', 'write_file', 'move_file', 'search'];
const uris = ['file:///public/a', 'file:///secret/b'];
const template = 'file:///{folder}/{name}';

/** Hub shared by the tests that change only its config. */
let shared: TestHub;
const governed = createTestAccess([files]);
beforeAll(async () => {
  shared = await startHub([files], { access: governed.access });
});
afterAll(async () => await shared?.[Symbol.asyncDispose]());

/** Replaces the config of the shared hub, and returns the hub. Sessions of earlier tests may still be open. */
function govern(settings: Parameters<typeof governed.change>[0]): TestHub {
  governed.change(settings);
  return shared;
}

describe.each(combinations)('a client of the %s era at the endpoint of %s', (era, where) => {
  const at = (hub: TestHub) => (where === 'all' ? where : hub.server(where));
  const named = (name: string) => (where === 'all' ? `files_${name}` : name);

  /** Checks what one rule for the client `cursor` hides from its lists and refuses. */
  async function check(
    rule: Omit<PolicyRule, 'action' | 'clients'>,
    expected: {
      readonly tools?: readonly string[];
      readonly uris?: readonly string[];
      readonly templates?: readonly string[];
      readonly prompts?: readonly string[];
      readonly by?: string;
    },
  ) {
    const hub = govern({
      policy: [{ ...rule, clients: ['cursor'], action: 'deny' }],
    });
    const client = await open(hub, era, at(hub));
    const free = await open(hub, era, at(hub), other);
    const hidden = { tools: [], uris: [], templates: [], prompts: [], ...expected };
    const rest = (all: readonly string[], gone: readonly string[]) =>
      all.filter(name => !gone.includes(name));
    assert.deepEqual(await listed(client, 'tools'), rest(tools, hidden.tools).map(named));
    assert.deepEqual(await listed(client, 'resources'), rest(uris, hidden.uris));
    assert.deepEqual(await listed(client, 'resourceTemplates'), rest([template], hidden.templates));
    assert.deepEqual(
      await listed(client, 'prompts'),
      rest(['plan', 'review'], hidden.prompts).map(named),
    );
    const { by } = expected;
    const use = async (method: string, params: object, what: string, isDenied: boolean) => {
      assert.deepEqual(
        await refusalOf(client, method, params),
        isDenied ? denied(by ?? what) : undefined,
        `${method} ${JSON.stringify(params)}`,
      );
      assert.equal(await refusalOf(free, method, params), undefined);
    };
    for (const name of tools)
      await use(
        'tools/call',
        { name: named(name) },
        `the tool "files_${name}"`,
        hidden.tools.includes(name),
      );
    for (const uri of uris)
      await use('resources/read', { uri }, `the resource "${uri}"`, hidden.uris.includes(uri));
    for (const name of ['plan', 'review'])
      await use(
        'prompts/get',
        { name: named(name) },
        `the prompt "files_${name}"`,
        hidden.prompts.includes(name),
      );
  }

  test('is refused a denied tool', () =>
    check({ tools: ['files_write*'] }, { tools: ['write_file'] }));
  test('is refused a denied server', () =>
    check(
      { servers: ['files'] },
      { tools, uris, templates: [template], prompts: ['plan', 'review'] },
    ));
  test('is refused denied resources', () =>
    check({ resources: ['file:///secret/*'] }, { uris: ['file:///secret/b'] }));
  test('is refused a denied prompt', () =>
    check({ prompts: ['files_plan'] }, { prompts: ['plan'] }));
  test('is refused a denied method, whose list is empty', () =>
    check(
      { methods: ['resources/*'] },
      { uris, templates: [template], by: 'the method "resources/read"' },
    ));
  test('is refused tools that write', () =>
    check({ annotations: { readOnlyHint: false } }, { tools: ['write_file', 'move_file'] }));
  test('is refused tools that may destroy, including those without annotations', () =>
    check({ annotations: { destructiveHint: true } }, { tools: ['write_file'] }));

  test('reads no resource of a denied template, however the URI is written', async () => {
    const hub = govern({
      policy: [{ resources: ['file:///secret/*'], action: 'deny', reason: 'private' }],
    });
    const client = await open(hub, era, at(hub));
    const read = async (uri: string) => await refusalOf(client, 'resources/read', { uri });
    assert.equal(await read('file:///public/c'), undefined);
    for (const uri of ['file:///secret/c', 'file:///%73ecret/c', 'file:///SECRET/../secret/c'])
      if (where === 'files' || !uri.includes('..'))
        assert.deepEqual(await read(uri), denied(`the resource "${uri}"`, 'private'), uri);
    const argument = { name: 'name', value: '' };
    const complete = async (uri: string) =>
      await refusalOf(client, 'completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument,
      });
    for (const uri of ['file:///secret/b', 'file:///%73ecret/c'])
      assert.deepEqual(await complete(uri), denied(`the resource "${uri}"`, 'private'), uri);
  });

  test('reads no URI of a denied template, unless a rule allows the URI', async () => {
    const hub = govern({
      policy: [
        { resources: ['file:///public/*'], action: 'allow' },
        { resources: [template], action: 'deny' },
      ],
    });
    const client = await open(hub, era, at(hub));
    const read = async (uri: string) => await refusalOf(client, 'resources/read', { uri });
    assert.equal(await read('file:///public/c'), undefined);
    const refused = denied('the resource "file:///other/c"', undefined, 'policy[1]');
    assert.deepEqual(await read('file:///other/c'), refused);
    assert.deepEqual(await listed(client, 'resourceTemplates'), []);
    if (where !== 'files') return;
    const long = `file:///other/${'c'.repeat(2_100)}`;
    const queried = ['file:///other/c?d', 'file:///other/c#d'];
    for (const uri of [
      'FILE:///other/c',
      'file:///a/../other/c',
      'file:///other%2Fc',
      long,
      ...queried,
    ])
      assert.deepEqual(
        await read(uri),
        denied(`the resource "${uri}"`, undefined, 'policy[1]'),
        uri,
      );
  });

  test('gets no completion for an argument of a denied prompt', async () => {
    const hub = govern({
      policy: [{ prompts: ['files_plan'], action: 'deny' }],
    });
    const client = await open(hub, era, at(hub));
    const complete = async (name: string) =>
      await refusalOf(client, 'completion/complete', {
        ref: { type: 'ref/prompt', name: named(name) },
        argument: { name: 'x', value: '' },
      });
    assert.deepEqual(await complete('plan'), denied('the prompt "files_plan"'));
    assert.equal(await complete('review'), undefined);
  });

  test('keeps the methods that open a session if everything else is denied', async () => {
    const hub = govern({
      policy: [{ clients: ['cursor'], action: 'deny' }],
    });
    const client = await open(hub, era, at(hub));
    const opening = era === 'modern' ? 'server/discover' : 'ping';
    assert.equal(await refusalOf(client, opening, {}), undefined);
    for (const member of ['tools', 'resources', 'resourceTemplates', 'prompts'] as const)
      assert.deepEqual(await listed(client, member), []);
  });

  test('sees tools renamed and described as configured, but no denied ones', async () => {
    const hub = govern({
      tools: {
        files: {
          deny: ['move*'],
          rename: { read_file: 'read', write_file: 'read_file' },
          describe: { read_file: 'Reads.' },
        },
      },
    });
    const client = await open(hub, era, at(hub), other);
    assert.deepEqual(await listed(client, 'tools'), ['read', 'read_file', 'search'].map(named));
    const { result } = await client.ask('tools/list');
    assert.match(JSON.stringify(result), /"description":"Reads\."/);
    const call = async (name: string) => {
      const answer = await client.ask('tools/call', { name: named(name) });
      return JSON.stringify(answer['result'] ?? answer['error']);
    };
    assert.match(await call('read'), /did read_file/);
    assert.match(await call('read_file'), /did write_file/);
    assert.match(await call('search'), /did search/);
    assert.match(await call('write_file'), /no tool is called/);
    assert.deepEqual(await refusalOf(client, 'tools/call', { name: named('move_file') }), {
      message: 'policy denies the tool "files_move_file" to owner',
      data: { code: 'HUB_POLICY_DENIED', rule: 'servers.files.tools.deny' },
    });
  });
});

test('a tool keeps its name if another tool of its server has the new one', async () => {
  const hub = govern({ tools: { files: { rename: { read_file: 'search' } } } });
  for (const where of ['all', hub.server('files')] as const) {
    const client = await open(hub, 'legacy', where);
    const own = (await listed(client, 'tools')).map(name => String(name).replace('files_', ''));
    assert.deepEqual(own, tools);
    const { result } = await client.ask('tools/call', {
      name: where === 'all' ? 'files_search' : 'search',
    });
    assert.match(JSON.stringify(result), /did search/);
  }
  assert.deepEqual(hub.router.collisions(), [
    { server: 'files', name: 'read_file', wanted: 'search', publicName: 'read_file' },
  ]);
});

test('a rule applies to a tool by its name even if its server does not list it', async () => {
  const hub = govern({ policy: [{ tools: ['files_unlisted'], action: 'deny' }] });
  const client = await open(hub, 'legacy', hub.server('files'));
  assert.deepEqual(
    await refusalOf(client, 'tools/call', { name: 'unlisted' }),
    denied('the tool "files_unlisted"'),
  );
});

test('a rule with the name of a resource on /mcp applies at its server, however the URI is written', async () => {
  const both = [files, { name: 'second', file: 'files.mjs' }];
  const { access } = createTestAccess(both, {
    policy: [{ resources: ['second+file:///secret/*'], action: 'deny' }],
  });
  await using hub = await startHub(both, { access });
  const client = await open(hub, 'legacy', hub.server('second'));
  for (const uri of ['file:///secret/b', 'FILE:///secret/b', 'file:///x/../secret/c'])
    assert.match(
      String((await refusalOf(client, 'resources/read', { uri }))?.message),
      /^policy denies the resource/,
      uri,
    );
  const elsewhere = await open(hub, 'legacy', hub.server('files'));
  const uri = 'FILE:///secret/b';
  assert.equal(await refusalOf(elsewhere, 'resources/read', { uri }), undefined);
});

test.each(['all', 'stateless'])(
  'under a policy resources are cacheable for their client only, whatever the server allows, at %s',
  async where => {
    const servers = [{ name: 'stateless', env: { SCOPE: 'public' } }];
    const { access, change } = createTestAccess(servers);
    await using hub = await startHub(servers, { access });
    const client = await open(hub, 'modern', where === 'all' ? where : hub.server(where));
    const scopeOf = async () => {
      const { result } = await client.ask('resources/read', { uri: 'stateless://note' });
      return isObject(result) ? result['cacheScope'] : assert.fail('it is read');
    };
    assert.equal(await scopeOf(), 'public');
    change({ policy: [{ clients: ['other'], resources: ['stateless://*'], action: 'deny' }] });
    assert.equal(await scopeOf(), 'private');
  },
);

test('a completion is decided by the rules of its server, even if another server lists that resource', async () => {
  const uri = 'file:///public/a';
  const both = [
    { name: 'first', file: 'files.mjs' },
    { name: 'second', file: 'files.mjs', env: { TEMPLATE: uri } },
  ];
  const { access } = createTestAccess(both, { policy: [{ servers: ['second'], action: 'deny' }] });
  await using hub = await startHub(both, { access });
  const client = await open(hub, 'legacy', 'all');
  const ref = { type: 'ref/resource', uri };
  const argument = { name: 'x', value: '' };
  assert.deepEqual(
    await refusalOf(client, 'completion/complete', { ref, argument }),
    denied(`the template "${uri}"`),
  );
});

test.each([
  ['tools/call', { name: ['unlisted'] }, 'tools/call needs "name" in its params, as a string'],
  ['prompts/get', {}, 'prompts/get needs "name" in its params, as a string'],
  ['resources/read', { uri: 5 }, 'resources/read needs "uri" in its params, as a string'],
  [
    'completion/complete',
    { ref: { type: 'ref/resource' }, argument: { name: 'a', value: '' } },
    'completion/complete needs "ref.uri" in its params, as a string',
  ],
])('with a policy, %s with the params %j is refused', async (method, params, message) => {
  const { access } = createTestAccess([files], {
    policy: [{ tools: ['files_unlisted'], action: 'deny' }],
  });
  await using hub = await startHub([files], { access });
  const client = await open(hub, 'legacy', hub.server('files'));
  const { error } = await client.ask(method, params);
  assert.deepEqual(error, { code: -32_602, message, data: { code: 'HUB_REQUEST_INVALID' } });
});

test('a rule that allows a folder allows nothing outside it, however the URI is written', async () => {
  const hub = govern({
    policy: [
      { resources: ['file:///public/*'], action: 'allow' },
      { resources: ['*'], action: 'deny' },
    ],
  });
  const client = await open(hub, 'legacy', hub.server('files'));
  assert.equal(await refusalOf(client, 'resources/read', { uri: 'file:///public/c' }), undefined);
  for (const uri of [
    'file:///public/../secret/c',
    'file:///public/%2e%2e/c',
    'file:///public/..%2fc',
  ])
    assert.deepEqual(
      await refusalOf(client, 'resources/read', { uri }),
      denied(`the resource "${uri}"`, undefined, 'policy[1]'),
    );
});

describe('a client that listens at an endpoint', () => {
  const uri = `echo://${'x'.repeat(70_000)}`;

  test('gets no update of a URI that is too long for a decision, and leaves no stream', async () => {
    const own = { name: 'echo', instance: 'session', instanceIdleMs: 1 } as const;
    const { access } = createTestAccess([own], { policy: [{ tools: ['x'], action: 'deny' }] });
    await using hub = await startHub([own], { access });
    const client = openModern(hub, hub.server('echo'), {}, undefined, cursor);
    const over = client.ask('subscriptions/listen', {
      notifications: { resourceSubscriptions: [uri] },
    });
    await until(() => client.told.length === 1);
    assert.match(JSON.stringify(client.told[0]), /"resourceSubscriptions":\[\]/);
    client.session.close('gone');
    assert.match(JSON.stringify(await over), /HUB_CALL_CANCELLED/);
  });
});

describe("a method of a server's own", () => {
  const all = { tools: ['files_*'], resources: ['*'], prompts: ['files_*'] };
  const clients = ['cursor'];
  const reason = 'it may use nothing of this server';
  const nothing = {
    message: `policy denies the method "vendor/method" to cursor: ${reason}`,
    data: { code: 'HUB_POLICY_DENIED', reason },
  };

  /** Returns the code of the error for the method at the endpoint of the server, from the hub or from the server. */
  async function codeUnder(policy: readonly PolicyRule[], era: Era, principal = cursor) {
    const hub = govern({ policy });
    const client = await open(hub, era, hub.server('files'), principal);
    const { error } = await client.ask('vendor/method', {});
    return isObject(error) ? error['code'] : undefined;
  }

  test.each(['legacy', 'modern'] as const)(
    'is refused a client of the %s era that may use nothing of the server',
    async era => {
      const rules: readonly PolicyRule[] = [{ ...all, clients, action: 'deny' }];
      assert.equal(await codeUnder(rules, era), -32006);
      const client = await open(shared, era, shared.server('files'));
      assert.deepEqual(await refusalOf(client, 'vendor/method', {}), nothing);
      assert.equal(await codeUnder(rules, era, other), -32601);
    },
  );

  test('reaches the server if the client may use an item of it, or a rule allows the method', async () => {
    const some: PolicyRule = { ...all, tools: ['files_write*'], clients, action: 'deny' };
    assert.equal(await codeUnder([some], 'legacy'), -32601);
    const allowed: PolicyRule = { methods: ['vendor/*'], action: 'allow' };
    assert.equal(await codeUnder([allowed, { ...all, action: 'deny' }], 'legacy'), -32601);
  });

  test('waits for the lists of a server that was never started', async () => {
    const { access } = createTestAccess([files], { policy: [{ ...all, action: 'deny' }] });
    await using hub = await startHub([{ ...files, autoStart: false }], { access });
    const client = await open(hub, 'modern', hub.server('files'));
    assert.deepEqual(await refusalOf(client, 'vendor/method', {}), nothing);
  });
});

test('an unknown tool is reported as unknown, even if the policy denies all', async () => {
  const hub = govern({ policy: [{ tools: ['*'], action: 'deny' }] });
  const client = await open(hub, 'legacy', 'all');
  const { error } = await client.ask('tools/call', { name: 'files_nothing' });
  assert.match(JSON.stringify(error), /HUB_NAME_UNKNOWN/);
});

test('a call to a server that was never started waits for its lists, which have the annotations', async () => {
  const { access } = createTestAccess([files], {
    policy: [{ annotations: { readOnlyHint: false }, action: 'deny' }],
  });
  const decided: unknown[] = [];
  await using hub = await startHub([{ ...files, autoStart: false }], {
    access,
    observer: ({ decision }) => void decided.push(decision?.rule),
  });
  const client = await open(hub, 'modern', hub.server('files'));
  assert.equal(hub.server('files').running, undefined);
  const [read, write] = await Promise.all(
    ['read_file', 'write_file'].map(name => refusalOf(client, 'tools/call', { name })),
  );
  assert.equal(read, undefined);
  assert.deepEqual(write, denied('the tool "files_write_file"'));
  assert.deepEqual(new Set(decided), new Set(['policy[0]', undefined]));
});

test('a call that waits for the lists of its server reaches the tool that the policy decides about', async () => {
  // The new name belongs to another tool, which keeps it: the hub learns that only from the lists.
  const { access } = createTestAccess([files], {
    policy: [{ tools: ['files_write_file'], action: 'deny' }],
    tools: { files: { rename: { write_file: 'read_file' } } },
  });
  await using hub = await startHub([{ ...files, autoStart: false }], { access });
  const client = await open(hub, 'modern', hub.server('files'));
  const { result } = await client.ask('tools/call', { name: 'read_file' });
  assert.match(JSON.stringify(result), /did read_file/);
});

test('a call waits for the lists of its server even without a policy, if the config renames tools', async () => {
  const { access } = createTestAccess([files], {
    tools: { files: { rename: { write_file: 'read_file', search: 'find' } } },
  });
  await using hub = await startHub([{ ...files, autoStart: false }], { access });
  const client = await open(hub, 'modern', hub.server('files'));
  const names = ['read_file', 'find', 'search'];
  const [own, renamed, former] = await Promise.all(
    names.map(async name => JSON.stringify(await client.ask('tools/call', { name }))),
  );
  assert.match(own ?? '', /did read_file/);
  assert.match(renamed ?? '', /did search/);
  assert.match(former ?? '', /HUB_NAME_UNKNOWN/);
});

test('a call reaches the tool that the policy decided about even if a reload renames tools during the start', async () => {
  const policy = [{ tools: ['files_write_file'], action: 'deny' }] as const;
  const { access, change } = createTestAccess([files], {
    policy,
    tools: { files: { rename: { write_file: 'run', read_file: 'read' } } },
  });
  await using hub = await startHub([{ ...files, autoStart: false }], { access });
  const client = await open(hub, 'modern', hub.server('files'));
  const called = client.ask('tools/call', { name: 'run' });
  change({ policy, tools: { files: { rename: { read_file: 'run' } } } });
  assert.match(JSON.stringify(await called), /did read_file/);
});

test('an allow rule before a rule that denies everything leaves logs and streams available', async () => {
  const hub = govern({
    policy: [{ tools: ['files_read_file'], action: 'allow' }, { action: 'deny' }],
  });
  const client = await open(hub, 'legacy', 'all');
  assert.deepEqual(await listed(client, 'tools'), ['files_read_file']);
  assert.equal(await refusalOf(client, 'logging/setLevel', { level: 'error' }), undefined);
  const { error } = await client.ask('tools/call', { name: 'files_search' });
  assert.match(JSON.stringify(error), /HUB_POLICY_DENIED/);
});

describe('a log message of a server outside calls', () => {
  const asker = { name: 'asker', env: { SAYS: 'started' } };
  const logged = ({ told }: Opened) =>
    told.filter(({ method }) => method === 'notifications/message').length;

  test.each([
    ['the server', 'not sent', { servers: ['asker'] }, 0],
    ['some of its tools', 'sent', { tools: ['asker_ask'] }, 1],
  ])('for a client that may not use %s is %s', async (_denied, _heard, rule, times) => {
    const { access } = createTestAccess([asker], {
      policy: [{ ...rule, clients: ['cursor'], action: 'deny' }],
    });
    await using hub = await startHub([asker], { access });
    for (const where of ['all', hub.server('asker')] as const) {
      const client = await open(hub, 'legacy', where);
      const free = await open(hub, 'legacy', where, other);
      await hub.server('asker').stop(false);
      await hub.server('asker').ready();
      await until(() => logged(free) > 0);
      assert.equal(logged(client), times);
    }
  });
});

test.each([
  ['legacy', {}, 'running'],
  ['modern', { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }, 'stopped'],
] as const)(
  'a %s client that may use nothing of a server gets empty lists, and is no client of the server',
  async (era, more, state) => {
    const { access } = createTestAccess([files], {
      policy: [{ servers: ['files'], clients: ['cursor'], action: 'deny' }],
    });
    await using hub = await startHub([files], { access });
    const server = hub.server('files');
    await server.stop(false);
    // A session starts the server by "initialize".
    const client = await open(hub, era, server);
    for (const [member, [method]] of Object.entries(lists))
      assert.deepEqual((await client.ask(method))['result'], { ...more, [member]: [] });
    assert.equal(server.status.state, state);
    assert.equal(server.running?.upstream.onlyOwner() ?? 'none', 'none');
  },
);

test('a list starts a server that never ran, as its items are unknown', async () => {
  const rule = { servers: ['files'], clients: ['cursor'] };
  const { access } = createTestAccess([files], {
    policy: [
      { ...rule, tools: ['files_search'], action: 'allow' },
      { ...rule, action: 'deny' },
    ],
  });
  await using hub = await startHub([files], { access, start: false });
  const client = await open(hub, 'modern', hub.server('files'));
  assert.deepEqual(await listed(client, 'tools'), ['search']);
});

test.each(['legacy', 'modern'] as const)(
  'a %s client that may use nothing of a server gets no instance of it',
  async era => {
    const own = { ...files, instance: 'session' } as const;
    const { access } = createTestAccess([own], {
      policy: [{ servers: ['files'], clients: ['cursor'], action: 'deny' }],
    });
    await using hub = await startHub([own], { access });
    const server = hub.server('files');
    const client = await open(hub, era, server);
    for (const [method] of Object.values(lists)) await client.ask(method);
    if (era === 'legacy') {
      assert.deepEqual((await client.ask('tasks/list'))['result'], { tasks: [] });
      const ended = await client.ask('resources/unsubscribe', { uri: 'file:///public/a' });
      assert.deepEqual(ended['result'], {});
    } else {
      void client.ask('subscriptions/listen', { notifications: { toolsListChanged: true } });
      await until(() => client.told.length === 1);
    }
    assert.equal(hub.servers.instances.count(server), 0);
    hub.router.close();
  },
);

test('messages outside of calls go by what the server offers older clients, which may differ', () => {
  const fixture = { name: 'dual', url: 'http://dual.test/mcp' };
  const dual = createScriptedServer(fixture, { era: 'modern' });
  const items = { tool: [{ key: 'old', bytes: Buffer.from('{"name":"old"}') }] };
  const older = createScriptedServer(fixture, { items });
  const needs = createScriptedNeeds([dual]);
  const holders: object[] = [];
  const instances: Servers['instances'] = {
    ...needs.servers.instances,
    forOlderClients(_, holder) {
      holders.push(holder);
      return older.server;
    },
  };
  const naming = () => ({ separator: '_', maxLength: 46 }) as const;
  const clients = createClientInstances(naming, {
    ...needs,
    servers: { ...needs.servers, instances },
    sessions: () => [],
  });
  clients.prepareOlder();
  const holder = clients.opened(dual.server, older.server, holders[0] ?? assert.fail());
  clients.differs(holder ?? assert.fail());
  const { access: source } = createTestAccess([], {
    policy: [
      { tools: ['dual_old'], action: 'allow' },
      { servers: ['dual'], action: 'deny' },
    ],
  });
  const access = createAccess({ ...needs, clients, source, naming });
  assert.equal(access.mayHearFrom({ principal: cursor, own: undefined }, dual.server), true);
});

test('messages outside of calls cost no look at each item of their server, or of others', () => {
  const all = [
    createScriptedServer({ name: 'one' }),
    createScriptedServer({ name: 'two' }),
  ] as const;
  const needs = createScriptedNeeds(all);
  const { access: source } = createTestAccess([], {
    policy: [{ servers: ['two'], action: 'deny' }],
  });
  const naming = () => ({ separator: '_', maxLength: 46 }) as const;
  const access = createAccess({ ...needs, source, naming });
  const { catalog, ...offering } = needs.clients.shared;
  let reads = 0;
  const item = (server: Server, name: string) => ({
    name,
    shownName: name,
    publicName: name,
    bytes: Buffer.from('{}'),
    get server() {
      reads++;
      return server;
    },
  });
  const items = all.map(({ server }) => item(server, server.config.name));
  const list: typeof catalog.list = kind => (kind === 'tool' ? items : catalog.list(kind));
  const session = { principal: cursor, own: { ...offering, catalog: { ...catalog, list } } };
  const heard = () => all.map(({ server }) => access.mayHearFrom(session, server));
  assert.deepEqual(heard(), [true, false]);
  const once = reads;
  assert.deepEqual([heard(), reads], [[true, false], once]);
});

test('the policy applies the profile of each session of a client, call by call', async () => {
  const rest = { tags: [], servers: ['files'], tools: [] };
  const hub = govern({
    policy: [{ clients: ['another'], action: 'deny' }],
    profiles: [{ name: 'narrow', ...rest, hiddenTools: ['files_search'] }],
  });
  const wide = await open(hub, 'legacy', 'all');
  const narrow = await open(hub, 'legacy', 'all', withProfile(cursor, 'narrow'));
  const ask = async (client: Opened) =>
    (await refusalOf(client, 'tools/call', { name: 'files_search' })) !== undefined;
  const refused: boolean[] = [];
  for (const client of [wide, narrow, wide, narrow]) refused.push(await ask(client));
  assert.deepEqual(refused, [false, true, false, true]);
});

describe('a reload', () => {
  const changedLists = ({ told }: Opened) =>
    told.map(({ method }) => String(method)).filter(method => method.endsWith('list_changed'));

  test('applies to open sessions, and notifies those whose lists changed', async () => {
    const { access, change } = createTestAccess([files]);
    // Time stands still, so the lists that changed at the start are never announced.
    const clock = createManualClock();
    await using hub = await startHub([files], { access, clock });
    const all = await open(hub, 'legacy', 'all');
    const one = await open(hub, 'legacy', hub.server('files'));
    const free = await open(hub, 'legacy', 'all', other);
    assert.deepEqual(
      await listed(all, 'tools'),
      tools.map(name => `files_${name}`),
    );
    change({ policy: [{ clients: ['cursor'], tools: ['files_search'], action: 'deny' }] });
    assert.deepEqual(changedLists(all), ['notifications/tools/list_changed']);
    assert.deepEqual(changedLists(one), ['notifications/tools/list_changed']);
    assert.deepEqual(changedLists(free), []);
    assert.equal((await listed(all, 'tools')).length, 3);
    assert.equal((await listed(one, 'tools')).length, 3);
    assert.equal((await listed(free, 'tools')).length, 4);
    assert.deepEqual(
      await refusalOf(one, 'tools/call', { name: 'search' }),
      denied('the tool "files_search"'),
    );
    change({});
    assert.equal(changedLists(all).length, 2);
    assert.equal((await listed(all, 'tools')).length, 4);
    assert.equal(await refusalOf(one, 'tools/call', { name: 'search' }), undefined);
  });

  test('notifies clients of new names', async () => {
    const { access, change } = createTestAccess([files]);
    // Time stands still, so the lists that changed at the start are never announced.
    const clock = createManualClock();
    await using hub = await startHub([files], { access, clock });
    const all = await open(hub, 'legacy', 'all');
    const one = await open(hub, 'legacy', hub.server('files'));
    await listed(one, 'tools');
    change({ tools: { files: { rename: { search: 'find' } } } });
    assert.deepEqual(changedLists(one), ['notifications/tools/list_changed']);
    clock.advance(100);
    assert.ok(changedLists(all).includes('notifications/tools/list_changed'));
    assert.ok((await listed(one, 'tools')).includes('find'));
    assert.ok((await listed(all, 'tools')).includes('files_find'));
  });

  test('ends the updates of a resource that is now denied', async () => {
    const echo = { name: 'echo' };
    const { access, change } = createTestAccess([echo]);
    await using hub = await startHub([echo], { access });
    const uri = 'echo://greeting';
    const legacy = await open(hub, 'legacy', 'all');
    await legacy.ask('resources/subscribe', { uri });
    const modern = openModern(hub, 'all', {}, undefined, cursor);
    void modern.ask('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } });
    await until(() => modern.told.length === 1);
    const updates = ({ told }: Opened) =>
      told.filter(({ method }) => method === 'notifications/resources/updated').length;
    const touch = async () =>
      await legacy.ask('tools/call', { name: 'echo_touch', arguments: { uri } });
    await touch();
    await until(() => updates(legacy) === 1 && updates(modern) === 1);
    change({ policy: [{ resources: [uri], action: 'deny' }] });
    await touch();
    await legacy.ask('ping');
    assert.deepEqual([updates(legacy), updates(modern)], [1, 1]);
    assert.deepEqual(
      await refusalOf(legacy, 'resources/subscribe', { uri }),
      denied(`the resource "${uri}"`),
    );
    const late = openModern(hub, 'all', {}, undefined, cursor);
    void late.ask('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } });
    await until(() => late.told.length === 1);
    assert.match(JSON.stringify(late.told[0]), /"resourceSubscriptions":\[\]/);
    hub.router.close();
  });

  test('closes the tasks of a tool that is now denied', async () => {
    const stateless = { name: 'stateless' };
    const { access, change } = createTestAccess([stateless]);
    await using hub = await startHub([stateless], { access });
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const client = openModern(hub, 'all', capabilities, undefined, cursor);
    const { result } = await client.call('stateless_make');
    const { taskId } = result;
    assert.equal(await refusalOf(client, 'tasks/get', { taskId: String(taskId) }), undefined);
    change({ policy: [{ tools: ['stateless_make'], action: 'deny' }] });
    assert.deepEqual(
      await refusalOf(client, 'tasks/get', { taskId: String(taskId) }),
      denied('the tool "stateless_make"'),
    );
  });
});

describe('a task of a client without a session', () => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const two = [
    { name: 'stateless' },
    { name: 'other', file: 'stateless.mjs', env: { NAME: 'other' } },
  ];
  const taskIdOf = ({ result }: { readonly result: { readonly [name: string]: unknown } }) =>
    String(result['taskId']);

  test('is decided by the policy of its own server, although a task of another server has its id', async () => {
    const { access } = createTestAccess(two, {
      policy: [{ clients: ['cursor'], tools: ['other_make'], action: 'deny' }],
    });
    await using hub = await startHub(two, { access });
    const free = openModern(hub, 'all', capabilities, undefined, other);
    assert.equal(taskIdOf(await free.call('stateless_make')), 'task-1');
    assert.equal(taskIdOf(await free.call('other_make')), 'other+task-1');
    const at = (where: string) =>
      openModern(hub, hub.server(where), capabilities, undefined, cursor);
    const task = { taskId: 'task-1' };
    assert.equal(await refusalOf(at('stateless'), 'tasks/get', task), undefined);
    assert.deepEqual(
      await refusalOf(at('other'), 'tasks/get', task),
      denied('the tool "other_make"'),
    );
  });

  test("is allowed or denied with its tool even at its server's endpoint, where it has the server's id", async () => {
    const { access } = createTestAccess(two, {
      policy: [{ clients: ['cursor'], tools: ['other_make'], action: 'deny' }],
    });
    await using hub = await startHub(two, { access });
    const at = (where: string, principal: Principal) =>
      openModern(hub, hub.server(where), capabilities, undefined, principal);
    assert.equal(taskIdOf(await at('stateless', other).call('make')), 'task-1');
    assert.equal(taskIdOf(await at('other', other).call('make')), 'task-1');
    const task = { taskId: 'task-1' };
    for (const where of ['stateless', 'other']) {
      const { result } = await at(where, other).ask('tasks/get', task);
      assert.equal(isObject(result) && result['statusMessage'], where);
    }
    assert.equal(await refusalOf(at('stateless', cursor), 'tasks/get', task), undefined);
    assert.deepEqual(
      await refusalOf(at('other', cursor), 'tasks/get', task),
      denied('the tool "other_make"'),
    );
  });

  test.each(['all', 'stateless'])(
    'that the hub does not know is no task of a client that may use nothing of the server, at %s',
    async where => {
      const { access } = createTestAccess(two, {
        policy: [{ clients: ['cursor'], servers: ['stateless'], action: 'deny' }],
      });
      await using hub = await startHub(two, { access });
      // The hub records no task for a client without the extension.
      const taskId = taskIdOf(await openModern(hub, 'all').call('stateless_make'));
      const endpoint = where === 'all' ? where : hub.server(where);
      const open = (principal: Principal) =>
        openModern(hub, endpoint, capabilities, undefined, principal);
      const [client, free] = [open(cursor), open(other)];
      if (where !== 'all')
        for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
          assert.deepEqual(
            await refusalOf(client, method, { taskId }),
            denied(`the method "${method}"`),
          );
      if (where !== 'all') assert.equal(await refusalOf(free, 'tasks/get', { taskId }), undefined);
      const notifications = { taskIds: [taskId] };
      for (const one of [client, free]) void one.ask('subscriptions/listen', { notifications });
      await until(() => client.told.length === 1 && free.told.length === 1);
      await openModern(hub, 'all').call('stateless_tell', { taskId });
      await until(() => free.told.length === 2);
      assert.equal(client.told.length, 1);
      hub.router.close();
    },
  );

  test.each(['all', 'stateless'])(
    'sends no notification to a client that may not use its tool, at %s',
    async where => {
      const { access, change } = createTestAccess(two);
      await using hub = await startHub(two, { access });
      const endpoint = where === 'all' ? where : hub.server(where);
      const free = openModern(hub, 'all', capabilities, undefined, other);
      const taskId = taskIdOf(await free.call('stateless_make'));
      const listening = [cursor, other].map(principal => {
        const client = openModern(hub, endpoint, capabilities, undefined, principal);
        void client.ask('subscriptions/listen', { notifications: { taskIds: [taskId] } });
        return client;
      });
      const told = () =>
        listening.map(
          one => one.told.filter(({ method }) => method === 'notifications/tasks').length,
        );
      await until(() => listening.every(one => one.told.length === 1));
      await free.call('stateless_tell', { taskId });
      await until(() => told().every(count => count === 1));
      change({ policy: [{ clients: ['cursor'], tools: ['stateless_make'], action: 'deny' }] });
      await free.call('stateless_tell', { taskId });
      await until(() => told()[1] === 2);
      assert.deepEqual(told(), [1, 2]);
      hub.router.close();
    },
  );
});
