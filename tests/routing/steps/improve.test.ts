import assert from 'node:assert/strict';
import { describe, test, vi } from 'vitest';
import { isObject } from '#core';
import { type TestHub, startHub } from '#helpers/hub';
import { splice } from '#jsonrpc';
import type { NamedByRules } from '#routing';
import { openClient } from '../clients.ts';
import { at, openModern, textOf } from '../modern.ts';
import { createHeldWork, createScriptedPrompts } from '../scripted-prompts.ts';
import { createTestAccess } from '../test-access.ts';

/**
 * For all clients but `other`, the argument `text` of `echo_echo` is a prompt, and the prompt `echo_greet` is improved.
 */
const named: NamedByRules = {
  argumentsOf: (tool, client) =>
    client !== 'other' && tool === 'echo_echo' ? ['text', 'more'] : undefined,
  improves: (prompt, client) => client !== 'other' && prompt === 'echo_greet',
};

const echo = { name: 'echo' };

/** Returns the requests that the server receives while `work` runs. */
async function sentTo(hub: TestHub, work: () => Promise<unknown>): Promise<readonly string[]> {
  const { upstream } = hub.server('echo').running ?? assert.fail('echo does not run');
  const spied = vi.spyOn(upstream, 'relay');
  await work();
  return spied.mock.calls.map(([{ request, edits }]) => splice(request.bytes, edits).toString());
}

describe('a tool that a rule names', () => {
  test('gets its prompt arguments improved, and all others byte for byte', async () => {
    const { source, asked } = createScriptedPrompts({ named });
    await using hub = await startHub([echo], { prompts: source });
    const client = openClient(hub);
    await client.initialize();
    const lines = await sentTo(hub, async () => {
      const { answer } = await client.send(
        '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo_echo", "arguments" : {"kept": [1.0,  2e3], "text":"say \\u0068i\\n\\"now\\"", "more":7, "last":"text"}}}',
      );
      const value: unknown = JSON.parse(String(answer));
      assert.equal(textOf(asObject(at(value, 'result'))), 'better: say hi\n"now"');
    });
    assert.deepEqual(lines, [
      '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo", "arguments" : {"kept": [1.0,  2e3], "text":"better: say hi\\n\\"now\\"", "more":7, "last":"text"}}}',
    ]);
    assert.deepEqual(asked, [{ prompt: 'say hi\n"now"', client: 'test' }]);
  });

  test('gets improved prompts on its own endpoint too, and from clients without a session', async () => {
    const { source, asked } = createScriptedPrompts({ named });
    await using hub = await startHub([echo], { prompts: source });
    const one = openClient(hub, hub.server('echo'));
    assert.equal((await one.call('echo', { text: 'p' })).text, 'better: p');
    for (const [endpoint, name] of [
      ['all', 'echo_echo'],
      [hub.server('echo'), 'echo'],
    ] as const) {
      const client = openModern(hub, endpoint, {}, { name: 'editor' });
      assert.equal(textOf((await client.call(name, { text: 'p' })).result), 'better: p');
    }
    assert.deepEqual(
      asked.map(({ client }) => client),
      ['test', 'editor', 'editor'],
    );
  });

  test('gets improved prompts under its renamed name, on its own endpoint too', async () => {
    const { source } = createScriptedPrompts({
      named: { ...named, argumentsOf: tool => (tool === 'echo_say' ? ['text'] : undefined) },
    });
    const { access } = createTestAccess([echo], { tools: { echo: { rename: { echo: 'say' } } } });
    await using hub = await startHub([echo], { prompts: source, access });
    for (const [endpoint, name] of [
      ['all', 'echo_say'],
      [hub.server('echo'), 'say'],
    ] as const)
      assert.equal((await openClient(hub, endpoint).call(name, { text: 'p' })).text, 'better: p');
  });

  test('gets unchanged prompts under the rule of another client, and so do all other tools', async () => {
    const { source, asked } = createScriptedPrompts({ named });
    await using hub = await startHub([echo], { prompts: source });
    const other = openModern(hub, 'all', {}, { name: 'other' });
    assert.equal(textOf((await other.call('echo_echo', { text: 'p' })).result), 'p');
    const client = openClient(hub);
    assert.equal((await client.call('echo_bytes', { n: 3, text: 'p' })).text.length, 3);
    assert.equal((await client.call('echo_echo', {})).result['isError'], undefined);
    assert.deepEqual(asked, []);
  });

  test('gets unchanged prompts if there is no improvement', async () => {
    const { source } = createScriptedPrompts({
      named,
      make: async () => ({ prompt: 'nobody takes this', enhanced: false, source: 'unchanged' }),
    });
    await using hub = await startHub([echo], { prompts: source });
    assert.equal((await openClient(hub).call('echo_echo', { text: ' p ' })).text, ' p ');
  });

  test('is not called once its client has cancelled', async () => {
    const work = createHeldWork();
    const { source } = createScriptedPrompts({ named, make: work.make });
    await using hub = await startHub([echo], { prompts: source });
    const client = openClient(hub);
    await client.initialize();
    const lines = await sentTo(hub, async () => {
      const asking = client.ask(
        'tools/call',
        { name: 'echo_echo', arguments: { text: 'p' } },
        'mine',
      );
      await work.begun;
      await client.notify('notifications/cancelled', { requestId: 'mine' });
      assert.equal((await asking).error.data['code'], 'HUB_CALL_CANCELLED');
    });
    assert.deepEqual(lines, []);
    assert.ok(work.isEnded());
  });
});

describe('a prompt that a rule names', () => {
  test('has its user text improved', async () => {
    const { source, asked } = createScriptedPrompts({ named });
    await using hub = await startHub([echo], { prompts: source });
    const ask = async (client: ReturnType<typeof openClient>, name: string) =>
      (await client.ask('prompts/get', { name, arguments: { name: 'Ada', language: 'c' } })).result;
    const client = openClient(hub);
    assert.deepEqual(await ask(client, 'echo_greet'), {
      messages: [{ role: 'user', content: { type: 'text', text: 'better: Greet Ada warmly.' } }],
    });
    assert.deepEqual(await ask(client, 'echo_review'), {
      messages: [{ role: 'user', content: { type: 'text', text: 'Review this c code.' } }],
    });
    const one = openClient(hub, hub.server('echo'));
    assert.match(JSON.stringify(await ask(one, 'greet')), /better: Greet Ada/);
    const modern = openModern(hub, 'all', {}, { name: 'editor' });
    const got = await modern.ask('prompts/get', { name: 'echo_greet', arguments: { name: 'Ada' } });
    assert.match(JSON.stringify(got), /better: Greet Ada/);
    assert.deepEqual(
      asked.map(({ prompt, client: name }) => [prompt, name]),
      ['test', 'test', 'editor'].map(name => ['Greet Ada warmly.', name]),
    );
  });

  test('that is refused is refused without an improvement', async () => {
    const everything: NamedByRules = { argumentsOf: () => undefined, improves: () => true };
    const { source, asked } = createScriptedPrompts({ named: everything });
    await using hub = await startHub([echo], { prompts: source });
    const one = openClient(hub, hub.server('echo'));
    const { error } = await one.ask('prompts/get', { name: 'none' });
    assert.equal(error.message, 'no such prompt: none');
    assert.deepEqual(asked, []);
  });
});

const asObject = (value: unknown) => (isObject(value) ? value : assert.fail('no object'));
