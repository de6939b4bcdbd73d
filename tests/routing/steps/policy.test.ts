import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createFixtureServers } from '#helpers/hub';
import { encodeResult, whole } from '#jsonrpc';
import type { ListKind } from '#servers';
import { type ResolvedCall, callTo, hubReply, ownCall } from '../../../hub/routing/call.ts';
import { createPolicyStep } from '../../../hub/routing/steps/policy.ts';
import { callOf } from './scripted-call.ts';

function scene() {
  const servers = createFixtureServers([{ name: 'echo' }], { log: silent });
  const server = servers.get('echo');
  const entries = ['read', 'write'].map(name => ({
    server,
    name,
    publicName: `echo_${name}`,
    bytes: Buffer.from(''),
  }));
  const asked: string[] = [];
  const step = createPolicyStep(
    (principal, { config }, kind, name) => {
      asked.push(`${principal.name} ${config.name} ${kind} ${name}`);
      return name !== 'echo_write';
    },
    {
      list: () => entries,
      find: (_: ListKind, name: string) => entries.find(one => one.publicName === name),
    },
  );
  const pass = async (resolved: ResolvedCall, result = '{}') =>
    step
      ? JSON.parse(
          whole(
            (
              await step(resolved, () =>
                Promise.resolve(hubReply(encodeResult(resolved.call.id, result))),
              )
            ).bytes,
          ).toString(),
        ).result
      : assert.fail('no step');
  return { asked, pass, server, [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose]() };
}

const tools = (...names: readonly string[]) =>
  JSON.stringify({ tools: names.map(name => ({ name, x: 1 })), nextCursor: 'c' });

test('no policy is no step', () => {
  assert.equal(createPolicyStep(undefined, { list: () => [], find: () => undefined }), undefined);
});

describe('on the endpoint of all servers', () => {
  test('what is not permitted is not listed', async () => {
    await using one = scene();
    const listing = ownCall(callOf('tools/list'), () => hubReply(Buffer.from('')));
    assert.deepEqual(await one.pass(listing, tools('echo_read', 'echo_write', 'own')), {
      tools: [
        { name: 'echo_read', x: 1 },
        { name: 'own', x: 1 },
      ],
      nextCursor: 'c',
    });
  });

  test('what is not permitted cannot be called', async () => {
    await using one = scene();
    const of = (name: string) => callTo(one.server, callOf('tools/call', { name }));
    assert.deepEqual(await one.pass(of('echo_read')), {});
    await assert.rejects(one.pass(of('echo_write')), { code: 'HUB_NAME_UNKNOWN' });
    assert.match(one.asked.join('\n'), /^\w+ echo tool echo_read\n\w+ echo tool echo_write$/);
  });
});

describe('completion of arguments', () => {
  test.each([
    ['ref/prompt', 'name', 'prompt'],
    ['ref/resource', 'uri', 'template'],
  ])('is refused for a %s that is not permitted', async (type, key, kind) => {
    await using one = scene();
    const of = (name: string) =>
      callTo(one.server, callOf('completion/complete', { ref: { type, [key]: name } }));
    assert.deepEqual(await one.pass(of('echo_read')), {});
    await assert.rejects(one.pass(of('echo_write')), { code: 'HUB_NAME_UNKNOWN' });
    const asked = one.asked.map(line => line.split(' ').slice(1).join(' '));
    assert.deepEqual(asked, [`echo ${kind} echo_read`, `echo ${kind} echo_write`]);
  });

  test('without a reference is left to the server', async () => {
    await using one = scene();
    assert.deepEqual(await one.pass(callTo(one.server, callOf('completion/complete', {}))), {});
    assert.deepEqual(one.asked, []);
  });
});

describe('on the endpoint of one server', () => {
  test('the same is decided by the same names', async () => {
    await using one = scene();
    const listing = callTo(one.server, callOf('tools/list', {}, one.server));
    assert.deepEqual(await one.pass(listing, tools('read', 'write')), {
      tools: [{ name: 'read', x: 1 }],
      nextCursor: 'c',
    });
    const writing = callTo(one.server, callOf('tools/call', { name: 'write' }, one.server));
    await assert.rejects(one.pass(writing), { code: 'HUB_NAME_UNKNOWN' });
    assert.deepEqual(
      [...new Set(one.asked.map(line => line.split(' ').at(-1)))],
      ['echo_read', 'echo_write'],
    );
  });

  test('other methods are passed on', async () => {
    await using one = scene();
    assert.deepEqual(await one.pass(callTo(one.server, callOf('any/thing', {}, one.server))), {});
    assert.deepEqual(one.asked, []);
  });
});
