import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { PolicyRule } from '#config';
import { startHub } from '#helpers/hub';
import type { Observed } from '#routing';
import { createTestAccess } from '../routing/test-access.ts';
import { transports } from './every-transport.ts';
import { modernHeaders, postModern } from './raw.ts';

const fixtures = [{ name: 'files' }];
const tools = ['read_file', 'write_file', 'move_file', 'search'];

/** Each kind of rule, and the tools and resources that it denies. */
const kinds: readonly (readonly [
  what: string,
  rule: Omit<PolicyRule, 'action'>,
  tools: readonly string[],
  isSecretDenied: boolean,
])[] = [
  ['tools', { tools: ['files_write*'] }, ['write_file'], false],
  ['resources', { resources: ['file:///secret/*'] }, [], true],
  ['servers', { servers: ['fi*'] }, tools, true],
  ['methods', { methods: ['tools/call'] }, tools, false],
  ['annotations', { annotations: { destructiveHint: true } }, ['write_file'], false],
  ['clients', { clients: ['local', 'stdio', 'test'], tools: ['*'] }, tools, false],
];

const refusal = /policy denies the (tool|resource|method) "[^"]+" to (local|stdio): not today/;

describe.each(Object.entries(transports))('over %s', (_name, connect) => {
  test.each(['', '/files'] as const)(
    'every kind of rule hides and refuses at /mcp%s, with equal messages, and each refusal is observed',
    async path => {
      const { access, change } = createTestAccess(fixtures);
      const seen: Observed[] = [];
      await using hub = await startHub(fixtures, {
        access,
        observer: call => void seen.push(call),
      });
      await using client = await connect(hub, path);
      const named = (name: string) => (path === '' ? `files_${name}` : name);
      for (const [what, rule, denied, isSecretDenied] of kinds) {
        change({ policy: [{ ...rule, action: 'deny', reason: 'not today' }] });
        seen.length = 0;
        const rest = tools.filter(name => !denied.includes(name)).map(named);
        assert.deepEqual(await client.list(), rest, what);
        for (const name of tools)
          if (denied.includes(name)) await assert.rejects(client.call(named(name)), refusal, what);
          else await client.call(named(name));
        for (const uri of ['file:///secret/b', 'file:///secret/by-template'])
          if (isSecretDenied) await assert.rejects(client.read(uri), refusal, what);
          else await client.read(uri);
        const refused = seen.filter(({ outcome }) => outcome === 'HUB_POLICY_DENIED');
        assert.equal(refused.length, denied.length + (isSecretDenied ? 2 : 0), what);
        for (const { decision } of refused)
          assert.deepEqual([decision?.action, decision?.rule], ['deny', 'policy[0]'], what);
      }
      change({});
      assert.equal((await client.list()).length, tools.length);
    },
  );
});

test('a single call without a session is refused with status 403', async () => {
  const { access } = createTestAccess(fixtures, {
    policy: [{ tools: ['files_write_file'], action: 'deny', reason: 'not today' }],
  });
  await using hub = await startHub(fixtures, { access });
  const post = async (method: string, params: object) =>
    await fetch(`${hub.url}/mcp/files/${method}`, { method: 'POST', body: JSON.stringify(params) });
  const refused = await post('tools/call', { name: 'write_file' });
  assert.equal(refused.status, 403);
  assert.deepEqual(await refused.json(), {
    jsonrpc: '2.0',
    id: 1,
    error: {
      code: -32006,
      message: 'policy denies the tool "files_write_file" to local: not today',
      data: { code: 'HUB_POLICY_DENIED', rule: 'policy[0]', reason: 'not today' },
    },
  });
  assert.equal((await post('tools/call', { name: 'read_file' })).status, 200);
  const listed = await (await post('tools/list', {})).text();
  assert.ok(listed.includes('read_file') && !listed.includes('write_file'), listed);
});

test.each(['', '/fix'] as const)(
  'a denied tool is refused before its missing headers are, at /mcp%s',
  async path => {
    const servers = [{ name: 'fix', file: '../conformance/server.mjs' }];
    const { access, change } = createTestAccess(servers);
    await using hub = await startHub(servers, { access });
    const name = path === '' ? 'fix_test_param_header' : 'test_param_header';
    const codeOf = async () => {
      const response = await postModern(`${hub.url}/mcp${path}`, 'tools/call', {
        params: { name, arguments: { region: 'us' } },
        headers: modernHeaders('tools/call', name),
      });
      return JSON.parse(await response.body()).error?.data.code;
    };
    assert.equal(await codeOf(), 'HUB_HEADER_MISMATCH');
    change({ policy: [{ tools: ['fix_*'], action: 'deny' }] });
    assert.equal(await codeOf(), 'HUB_POLICY_DENIED');
  },
);
