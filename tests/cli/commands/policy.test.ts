import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Config, PolicyRule } from '#config';
import { configOf, startHub } from '#helpers/hub';
import { createTestAccess } from '../../routing/test-access.ts';
import { run } from '../run.ts';

const files = [{ name: 'files' }];
const rules: readonly PolicyRule[] = [
  { clients: ['cursor'], tools: ['files_write*'], action: 'deny', reason: 'read only' },
  { annotations: { readOnlyHint: true }, clients: ['cursor'], action: 'allow' },
  { clients: ['guest'], tools: ['*'], resources: ['*'], prompts: ['*'], action: 'deny' },
];
const test1 = ['policy', 'test', '--client', 'cursor'];

async function openScene() {
  const { access } = createTestAccess(files, { policy: rules });
  const hub = await startHub(files, { access });
  return {
    cli: (...args: readonly string[]) => run(args, { findHub: async () => hub.place }),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

describe('with a running hub', () => {
  test('policy lists the rules', async () => {
    await using scene = await openScene();
    const { code, out } = await scene.cli('policy');
    assert.equal(code, 0);
    assert.match(out, /^RULE +CALLS +TEXT\npolicy\[0\] +0 +\{"clients":\["cursor"\]/);
  });

  test('policy test explains a denial, and exits with 1', async () => {
    await using scene = await openScene();
    const { code, out } = await scene.cli(...test1, '--tool', 'files_write_file');
    assert.equal(code, 1);
    const [first, second, third] = out.split('\n');
    assert.equal(first, 'denied: the tool "files_write_file" to cursor');
    assert.match(second ?? '', /^ {2}by policy\[0\]: \{"clients":\["cursor"\],/);
    assert.equal(third, '  reason: read only');
  });

  test('policy test knows the annotations of tools', async () => {
    await using scene = await openScene();
    const { code, out } = await scene.cli(...test1, '--server', 'files', '--tool', 'search');
    assert.equal(code, 0);
    assert.match(out, /^allowed: the tool "files_search" to cursor\n {2}by policy\[1\]/);
    const { out: json } = await scene.cli(...test1, '--tool', 'files_search', '--json');
    assert.equal(JSON.parse(json).annotations.readOnlyHint, true);
  });

  test('policy test says that no rule matches, and that no server lists the tool', async () => {
    await using scene = await openScene();
    const { out, err } = await scene.cli(...test1, '--tool', 'files_wite');
    assert.match(out, /^allowed: .*\n {2}no rule matches/);
    assert.match(err, /no server lists it now/);
  });

  test('policy test says why a decision without a rule denies', async () => {
    await using scene = await openScene();
    const { code, out } = await scene.cli('policy', 'test', '--client', 'agent:ada', '--tool', 'x');
    assert.equal(code, 1);
    assert.match(
      out,
      /^denied: the tool "x" to agent:ada\n {2}by grants\n {2}reason: the agent has no grant/,
    );
    const vendor = ['--server', 'files', '--method', 'vendor/x'];
    const guest = await scene.cli('policy', 'test', '--client', 'guest', ...vendor);
    assert.equal(
      guest.out,
      'denied: vendor/x to guest\n  reason: it may use nothing of this server',
    );
  });
});

describe('without a running hub', () => {
  const config: Config = {
    servers: files.map(configOf),
    naming: { separator: '_', maxLength: 46 },
    policy: rules,
  };
  const cli = (...args: readonly string[]) =>
    run(args, {
      findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
      loadConfig: async () => ({ file: 'hub.json', config }),
    });

  test('the config alone decides', async () => {
    const { code, out, err } = await cli(...test1, '--tool', 'files_write_file');
    assert.equal(code, 1);
    assert.match(out, /^denied: the tool "files_write_file" to cursor\n {2}by policy\[0\]/);
    assert.match(err, /no hub is running/);
    assert.ok(!err.includes('annotations'), err);
  });

  test.each([
    ['cursr', /note: cursr is not in "clients" of the config and has no token, so it may be/],
    ['cursor', /^(?!.*"clients")/s],
    ['guest', /^(?!.*"clients")/s],
    ['owner', /^(?!.*"clients")/s],
    ['agent:ada', /^(?!.*"clients")/s],
  ])('the client %s is reported if it may be misspelt', async (client, message) => {
    const { err } = await run(['policy', 'test', '--client', client, '--tool', 'x'], {
      findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
      loadConfig: async () => ({
        file: 'hub.json',
        config: { ...config, clients: [{ name: 'cursor', administer: false }] },
      }),
      readTokenNames: async () => ['guest'],
    });
    assert.match(err, message);
  });

  test('annotations are reported as unknown if a rule refers to them', async () => {
    const { out, err } = await cli(...test1, '--server', 'files', '--tool', 'search');
    assert.match(out, /^allowed: the tool "files_search" to cursor\n {2}no rule matches/);
    assert.match(err, /the defaults of MCP were assumed/);
  });

  test.each([
    ['ping', /^allowed: ping to guest\n {2}every client may use this method/],
    ['logging/setLevel', /^allowed: .*\n {2}no rule matches/],
    ['completion/complete', /^denied: /],
  ])('%s is decided as by a hub', async (method, shown) => {
    const { out } = await run(['policy', 'test', '--client', 'guest', '--method', method], {
      findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
      loadConfig: async () => ({
        file: 'hub.json',
        config: { ...config, policy: [{ clients: ['guest'], action: 'deny' }] },
      }),
    });
    assert.match(out, shown);
  });

  test('an unknown server is refused', async () => {
    const { code, err } = await cli(...test1, '--server', 'x', '--tool', 'search');
    assert.equal(code, 1);
    assert.match(err, /no server is called "x"/);
  });
});

test.each([
  [['policy', 'tst'], /write "agenthub policy"/],
  [['policy', 'test', '--tool', 'x'], /--client is missing/],
  [test1, /write one of --tool/],
  [
    ['policy', 'test', '--client', 'agent:*', '--tool', 'x'],
    /"agent:\*" is a pattern\. Write the name/,
  ],
  [[...test1, '--tool', 'x', '--prompt', 'y'], /write one of --tool/],
])('%j is wrong usage', async (args, message) => {
  const { code, err } = await run(args, {});
  assert.equal(code, 2);
  assert.match(err, message);
});
