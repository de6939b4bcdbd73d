import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { PolicyRule } from '#config';
import { isObject } from '#core';
import { startHub } from '#helpers/hub';
import { createTestAccess } from '../../routing/test-access.ts';

const files = [{ name: 'files' }];

async function open(
  policy?: readonly PolicyRule[],
  views: Parameters<typeof createTestAccess>[1] = {},
) {
  const { access } = createTestAccess(files, {
    ...views,
    ...(policy && { policy }),
    tools: { files: { deny: ['move_file'], rename: { search: 'find' } } },
  });
  const hub = await startHub(files, { access });
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) };
    const text = body && JSON.stringify(body);
    const answer = await fetch(`${hub.url}${path}`, {
      method,
      headers,
      ...(text && { body: text }),
    });
    const found: unknown = await answer.json();
    return { status: answer.status, body: found };
  };
  return {
    hub,
    ask,
    explain: async (body: object) => (await ask('POST', '/policy/test', body)).body,
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

test('the rules are listed with the calls that each decided', async () => {
  const rule: PolicyRule = { tools: ['files_write_file', 'files_wrte'], action: 'deny' };
  await using opened = await open([rule]);
  const call = { method: 'POST', body: '{"name":"write_file"}' };
  for (let calls = 0; calls < 2; calls++)
    assert.equal((await fetch(`${opened.hub.url}/mcp/files/tools/call`, call)).status, 403);
  await opened.explain({ client: 'local', tool: 'files_write_file' });
  assert.deepEqual(await opened.ask('GET', '/policy'), {
    status: 200,
    body: {
      rules: [
        {
          path: 'servers.files.tools.deny',
          rule: { tools: ['move_file'], action: 'deny' },
          calls: 0,
        },
        { path: 'policy[0]', rule, calls: 2, unknown_tools: ['files_wrte'] },
      ],
    },
  });
});

test('a decision is explained by its rule, the annotations and the reason', async () => {
  const rule: PolicyRule = {
    clients: ['cursor'],
    annotations: { readOnlyHint: false },
    action: 'deny',
    reason: 'read only',
  };
  await using opened = await open([rule]);
  const hints = {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  };
  const about = { client: 'cursor', method: 'tools/call' };
  assert.deepEqual(await opened.explain({ client: 'cursor', tool: 'files_write_file' }), {
    ...about,
    action: 'deny',
    rule: 'policy[0]',
    text: JSON.stringify(rule),
    reason: 'read only',
    tool: 'files_write_file',
    listed: true,
    annotations: hints,
  });
  assert.deepEqual(await opened.explain({ client: 'cursor', server: 'files', tool: 'find' }), {
    ...about,
    action: 'allow',
    rule: null,
    tool: 'files_find',
    listed: true,
    annotations: { ...hints, readOnlyHint: true, destructiveHint: false },
  });
  assert.deepEqual(
    await opened.explain({ client: 'x', prompt: 'nothing', method: 'prompts/get' }),
    {
      client: 'x',
      method: 'prompts/get',
      action: 'allow',
      rule: null,
      prompt: 'nothing',
      listed: false,
    },
  );
  assert.deepEqual(await opened.explain({ client: 'x', method: 'logging/setLevel' }), {
    client: 'x',
    method: 'logging/setLevel',
    action: 'allow',
    rule: null,
  });
});

test("a method of a server's own is explained by the items that its client may use", async () => {
  const items = { tools: ['files_*'], resources: ['*'], prompts: ['files_*'] };
  await using opened = await open([{ ...items, clients: ['cursor'], action: 'deny' }]);
  const about = { method: 'vendor/method', server: 'files' };
  const answerTo = async (client: string) => await opened.explain({ client, ...about });
  assert.partialDeepStrictEqual(await answerTo('cursor'), {
    action: 'deny',
    rule: null,
    reason: 'it may use nothing of this server',
  });
  assert.partialDeepStrictEqual(await answerTo('other'), { action: 'allow', rule: null });
});

test.each([
  [{ tool: 'x' }, /client: is missing/],
  [{ client: 'x' }, /tool: is missing/],
  [{ client: 'x', tool: 'a', prompt: 'b' }, /write one of/],
  [{ client: 'x', tools: 'a' }, /tools: is not a member/],
  [{ client: 3, tool: 'a' }, /client: 3 is not allowed/],
  [{ client: 'x', tool: 'a', server: 'nothing' }, /no server is called "nothing"/],
])('%j is refused', async (body, message) => {
  await using opened = await open();
  const answer = await opened.ask('POST', '/policy/test', body);
  assert.ok(answer.status === 400 || answer.status === 404);
  assert.match(JSON.stringify(answer.body).replaceAll('\\"', '"'), message);
});

test('a method that uses no item is explained as a call of it is decided', async () => {
  const rules: readonly PolicyRule[] = [
    { clients: ['codex'], methods: ['logging/*', 'resources/*'], action: 'deny' },
    { clients: ['guest'], action: 'deny' },
  ];
  await using opened = await open(rules);
  const actionOf = async (client: string, method: string) => {
    const answer = await opened.explain({ client, method });
    return isObject(answer) ? answer['action'] : undefined;
  };
  const methods = ['ping', 'tools/list', 'resources/list', 'logging/setLevel', 'resources/read'];
  const decided = (client: string) => Promise.all(methods.map(one => actionOf(client, one)));
  assert.deepEqual(await decided('guest'), ['allow', 'allow', 'allow', 'allow', 'deny']);
  assert.deepEqual(await decided('codex'), ['allow', 'allow', 'allow', 'deny', 'deny']);
});

test('the profile of a client and the grants of an agent are explained, too', async () => {
  const shown = { name: 'work', servers: [], tags: [], tools: ['files_search'], hiddenTools: [] };
  await using opened = await open(undefined, {
    profiles: [shown],
    clients: [{ name: 'zed', profile: 'work', administer: false }],
  });
  const answerTo = async (client: string, tool: string) => await opened.explain({ client, tool });
  assert.partialDeepStrictEqual(await answerTo('zed', 'files_search'), { action: 'allow' });
  assert.partialDeepStrictEqual(await answerTo('zed', 'files_write_file'), {
    action: 'deny',
    rule: 'profiles.work',
  });
  assert.partialDeepStrictEqual(await answerTo('agent:ada', 'files_search'), {
    action: 'deny',
    rule: 'grants',
  });
});

test('a URI that no server lists is explained in each way to write it', async () => {
  await using opened = await open([{ resources: ['x://me/.ssh/*'], action: 'deny' }]);
  for (const resource of ['x://me/.ssh/id', 'x://me/%2essh/id', 'x://me/a/../.ssh/id'])
    assert.partialDeepStrictEqual(await opened.explain({ client: 'x', resource }), {
      action: 'deny',
      rule: 'policy[0]',
    });
});
