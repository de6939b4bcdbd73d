import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadConfig } from '#config';
import { HubError } from '#core';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'policy-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function load(content: object) {
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify({ servers: {}, ...content }));
  return await loadConfig(file, { env: {}, home: folder });
}

/** Returns the problem of a config, without its file and line. */
async function problemOf(content: object): Promise<string> {
  const error: unknown = await load(content).catch((refused: unknown) => refused);
  assert.ok(error instanceof HubError, 'the config is refused');
  return error.message.replace(/^\S+:\d+:\d+: /, '');
}

test('rules are normalized, whether they name one thing or several', async () => {
  const annotations = { readOnlyHint: false };
  const { policy } = await load({
    policy: [
      { clients: 'cursor', tools: ['a', 'b'], annotations, action: 'deny', reason: 'read only' },
      { methods: 'tools/*', action: 'allow' },
    ],
  });
  assert.deepEqual(policy, [
    { clients: ['cursor'], tools: ['a', 'b'], annotations, action: 'deny', reason: 'read only' },
    { methods: ['tools/*'], action: 'allow' },
  ]);
  assert.equal('policy' in (await load({})), false);
});

test.each([
  [
    'an unknown key',
    [{ tool: 'x', action: 'deny' }],
    'policy[0].tool: unknown key. Did you mean "tools"?',
  ],
  [
    'an unknown hint',
    [{ annotations: { readonly: true }, action: 'deny' }],
    'policy[0].annotations.readonly: unknown key. Did you mean "readOnlyHint"?',
  ],
  [
    'an action of later versions',
    [{ action: 'ask' }],
    'policy[0].action: "ask" is not allowed: write "allow" or "deny" or "confirm"',
  ],
  ['no action', [{ tools: 'x' }], 'policy[0].action: '],
  ['an empty list', [{ tools: [], action: 'deny' }], 'policy[0].tools: '],
  ['a number', [{ tools: 3, action: 'deny' }], 'policy[0].tools: 3 is not allowed: write a name'],
  ['empty annotations', [{ annotations: {}, action: 'deny' }], 'policy[0].annotations: '],
  ['no list', { action: 'deny' }, 'policy: '],
])('%s is refused with its path', async (_what, policy, start) => {
  const problem = await problemOf({ policy });
  assert.ok(problem.startsWith(start), problem);
});

test.each(['resources', 'prompts', 'methods'])(
  '%s in a rule with "confirm" is refused',
  async key => {
    const problem = await problemOf({ policy: [{ [key]: 'x', action: 'confirm' }] });
    assert.ok(problem.startsWith(`policy[0].${key}: has no effect`), problem);
  },
);

describe('a policy that denies everything to every client', () => {
  test.each([
    [[{ action: 'deny' }], 0],
    [[{ clients: '*', servers: ['x', '*'], action: 'deny' }], 0],
    [[{ tools: 'x', action: 'deny' }, { action: 'deny' }, { action: 'allow' }], 1],
    [[{ tools: '*', resources: '*', prompts: '*', action: 'deny' }], 0],
  ])('is refused: %j', async (policy, index) => {
    const problem = await problemOf({ policy });
    assert.ok(problem.startsWith(`policy[${index}]: denies everything to everybody`), problem);
  });

  test.each([
    [[{ tools: 'x', action: 'allow' }, { action: 'deny' }]],
    [[{ tools: '*', action: 'deny' }]],
    [[{ annotations: { readOnlyHint: false }, action: 'deny' }]],
    [[{ clients: 'cursor', action: 'deny' }]],
    [[{ action: 'allow' }, { action: 'deny' }]],
    [[{ action: 'confirm' }, { action: 'deny' }]],
    [[{ action: 'confirm' }]],
  ])('is not: %j', async policy => {
    assert.ok((await load({ policy })).policy);
  });
});

describe('the tool settings of a server', () => {
  const server = { url: 'https://example.com/mcp' };
  const withTools = (tools: object, form = 'servers') => ({
    servers: undefined,
    [form]: { files: { ...server, tools } },
  });

  test.each(['servers', 'mcpServers'])('have their path in %s', async form => {
    const tools = { allow: ['a*'], deny: ['ab'], rename: { a: 'b' }, describe: { a: 'text' } };
    const { servers } = await load(withTools(tools, form));
    assert.deepEqual(servers[0]?.tools, { path: `${form}.files.tools`, ...tools });
  });

  test.each([
    [{ alow: [] }, 'servers.files.tools.alow: unknown key. Did you mean "allow"?'],
    [
      { rename: { a: 'c', b: 'c' } },
      'servers.files.tools.rename.b: "c" is also the new name of "a": choose another',
    ],
    [{ rename: { a: 'no space' } }, 'servers.files.tools.rename.a: "no space" is not allowed: '],
  ])('%j is refused', async (tools, start) => {
    const problem = await problemOf(withTools(tools));
    assert.ok(problem.startsWith(start), problem);
  });
});
