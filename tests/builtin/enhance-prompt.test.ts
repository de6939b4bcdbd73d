import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { namesIn, openClient } from '../routing/clients.ts';
import { at, openModern, textOf } from '../routing/modern.ts';
import { createHeldWork, createScriptedPrompts } from '../routing/scripted-prompts.ts';

const tool = 'agenthub_enhance_prompt';
const prompt = 'enhance';

const itemNamed = (list: unknown, name: string) =>
  Array.isArray(list) ? list.find(item => isObject(item) && item['name'] === name) : undefined;

describe('a hub that improves prompts', () => {
  test('offers it as a tool with results of its output schema, and as a prompt', async () => {
    const { source, asked } = createScriptedPrompts({
      make: async () => ({ prompt: 'clear', source: 'l2', similarity: 0.9, ageMs: 5 }),
    });
    await using hub = await startHub([{ name: 'echo' }], { prompts: source });
    const client = openClient(hub);
    const { result: listed } = await client.ask('tools/list');
    assert.ok(namesIn(listed['tools']).includes('echo_echo'));
    const { result } = await client.call(tool, { prompt: 'make it good' });
    assert.deepEqual(result, {
      content: [{ type: 'text', text: 'clear' }],
      structuredContent: {
        prompt: 'clear',
        enhanced: true,
        source: 'l2',
        client: 'test',
        rule: 'default',
        model: 'llama3.2:3b',
        similarity: 0.9,
        age_ms: 5,
        took_ms: 1,
      },
    });
    const described = itemNamed(listed['tools'], tool);
    const check = new Ajv().compile(at(described, 'outputSchema') ?? false);
    assert.ok(check(result['structuredContent']), JSON.stringify(check.errors));

    const { result: prompts } = await client.ask('prompts/list');
    assert.deepEqual(at(itemNamed(prompts['prompts'], prompt), 'arguments'), [
      { name: 'prompt', description: 'The prompt to be improved.', required: true },
    ]);
    const got = await client.ask('prompts/get', {
      name: prompt,
      arguments: { prompt: 'make it good' },
    });
    assert.deepEqual(got.result, {
      description: 'improved by llama3.2:3b',
      messages: [{ role: 'user', content: { type: 'text', text: 'clear' } }],
    });
    const completed = await client.ask('completion/complete', {
      ref: { type: 'ref/prompt', name: prompt },
      argument: { name: 'prompt', value: 'm' },
    });
    assert.deepEqual(completed.result, { completion: { values: [] } });
    assert.deepEqual(asked, Array(2).fill({ prompt: 'make it good', client: 'test' }));
  });

  test('offers it to clients without a session, by the client name in each request', async () => {
    const { source, asked } = createScriptedPrompts();
    await using hub = await startHub([], { prompts: source });
    const client = openModern(hub, 'all', {}, { name: 'editor', version: '1' });
    const { result: listed } = await client.ask('tools/list');
    assert.deepEqual(namesIn(at(listed, 'tools')), [tool]);
    const { result } = await client.call(tool, { prompt: 'p' });
    assert.equal(textOf(result), 'better: p');
    assert.deepEqual(
      [result['resultType'], at(result, 'structuredContent', 'client')],
      ['complete', 'editor'],
    );
    const got = await client.ask('prompts/get', { name: prompt, arguments: { prompt: 'p' } });
    assert.equal(at(got, 'result', 'resultType'), 'complete');
    await openModern(hub, 'all').call(tool, { prompt: 'p' });
    assert.deepEqual(
      asked.map(({ client: name }) => name),
      ['editor', 'editor', undefined],
    );
  });

  test('says why a prompt is returned unchanged', async () => {
    const { source } = createScriptedPrompts({
      make: async () => ({ enhanced: false, source: 'unchanged', reason: 'Ollama is away' }),
    });
    await using hub = await startHub([], { prompts: source });
    const client = openClient(hub);
    const { result, text } = await client.call(tool, { prompt: ' as it is\n' });
    assert.equal(text, ' as it is\n');
    assert.equal(at(result, 'structuredContent', 'reason'), 'Ollama is away');
    assert.equal(result['isError'], undefined);
    const got = await client.ask('prompts/get', { name: prompt, arguments: { prompt: 'p' } });
    assert.equal(got.result['description'], 'as it came: Ollama is away');
  });

  test.each([
    [undefined, /^prompt: is missing/],
    [{}, /^prompt: is missing/],
    [{ prompt: 3 }, /^prompt: write a string/],
    [{ prompt: ' ' }, /^prompt: must not be empty/],
    [{ prompt: 'p', style: 'x' }, /^style: is not an argument; "prompt" is the only one/],
    ['p', /^arguments: write an object/],
  ])(
    'refuses %j by a tool error that a model can correct, and as a prompt by an error',
    async (given, why) => {
      const { source, asked } = createScriptedPrompts();
      await using hub = await startHub([], { prompts: source });
      const client = openClient(hub);
      const called = await client.ask('tools/call', { name: tool, arguments: given });
      assert.equal(called.result['isError'], true);
      assert.match(called.text, why);
      const { error } = await client.ask('prompts/get', { name: prompt, arguments: given });
      assert.equal(error.code, -32602);
      assert.match(error.message, why);
      assert.deepEqual(asked, []);
    },
  );

  test('refuses the call of its tool as a task', async () => {
    const { source } = createScriptedPrompts();
    await using hub = await startHub([], { prompts: source });
    const { error } = await openClient(hub).ask('tools/call', {
      name: tool,
      arguments: { prompt: 'p' },
      task: {},
    });
    assert.equal(error.code, -32601);
  });

  test('sends increasing progress to a client that gave a progress token', async () => {
    const { source } = createScriptedPrompts({
      async make({ prompt: given }, _signal, tell) {
        tell({ step: 'failed', model: 'one:1', message: 'it is busy' });
        tell({ step: 'model', model: 'two:1' });
        for (let chunk = 0; chunk < 50; chunk++)
          tell({ step: 'text', model: 'two:1', text: 'ten chars.' });
        return { prompt: given };
      },
    });
    await using hub = await startHub([], { prompts: source });
    const client = openClient(hub);
    const { related } = await client.ask('tools/call', {
      name: tool,
      arguments: { prompt: 'p' },
      _meta: { progressToken: 'of mine' },
    });
    assert.deepEqual(
      related.map(({ method, params }) => [method, params]),
      [
        [1, 'one:1 gave nothing: it is busy'],
        [2, 'two:1 works on it'],
        [3, 'two:1 has written 200 characters'],
        [4, 'two:1 has written 400 characters'],
      ].map(([progress, message]) => [
        'notifications/progress',
        { progressToken: 'of mine', progress, message },
      ]),
    );
    assert.deepEqual((await client.call(tool, { prompt: 'p' })).related, []);
  });

  test('ends the work on a prompt if the client cancels it or disconnects', async () => {
    const work = createHeldWork();
    const { source } = createScriptedPrompts({ make: work.make });
    await using hub = await startHub([], { prompts: source });
    const client = openClient(hub);
    const asking = client.ask('tools/call', { name: tool, arguments: { prompt: 'p' } }, 'mine');
    await work.begun;
    await client.notify('notifications/cancelled', { requestId: 'mine' });
    assert.equal((await asking).error.data['code'], 'HUB_CALL_CANCELLED');
    assert.ok(work.isEnded());
    const left = createHeldWork();
    const second = createScriptedPrompts({ make: left.make });
    await using other = await startHub([], { prompts: second.source });
    const leaver = openClient(other);
    const lost = leaver.ask('prompts/get', { name: prompt, arguments: { prompt: 'p' } });
    await left.begun;
    leaver.session.close('gone');
    await lost;
    assert.ok(left.isEnded());
  });

  test('notifies clients when it stops offering the tool and the prompt, and when it offers them again', async () => {
    const { source, offer } = createScriptedPrompts();
    await using hub = await startHub([{ name: 'echo' }], { prompts: source });
    const client = openClient(hub);
    await client.initialize();
    const offered = async () => [
      namesIn((await client.ask('tools/list')).result['tools']).includes(tool),
      namesIn((await client.ask('prompts/list')).result['prompts']).includes(prompt),
    ];
    assert.deepEqual(await offered(), [true, true]);
    const heard = (method: string) => client.toldOf(method).length;
    const [tools, prompts] = [
      heard('notifications/tools/list_changed'),
      heard('notifications/prompts/list_changed'),
    ];
    offer(false);
    await until(
      () =>
        heard('notifications/tools/list_changed') > tools &&
        heard('notifications/prompts/list_changed') > prompts,
    );
    assert.deepEqual(await offered(), [false, false]);
    assert.equal((await client.call(tool, { prompt: 'p' })).error.data['code'], 'HUB_NAME_UNKNOWN');
    const { error } = await client.ask('completion/complete', {
      ref: { type: 'ref/prompt', name: prompt },
      argument: { name: 'prompt', value: '' },
    });
    assert.equal(error.data['code'], 'HUB_NAME_UNKNOWN');
    offer(true);
    assert.deepEqual(await offered(), [true, true]);
  });
});

test('a hub that improves no prompts offers nothing of its own', async () => {
  await using hub = await startHub([]);
  const client = openClient(hub);
  assert.deepEqual((await client.ask('tools/list')).result['tools'], []);
  assert.equal((await client.call(tool, { prompt: 'p' })).error.data['code'], 'HUB_NAME_UNKNOWN');
});
