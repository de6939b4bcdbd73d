import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { HubError, type JsonObject } from '#core';
import { type Era, connectEra, eras, refusal } from '#helpers/eras';
import { type Fixture, type TestHub, startHub, until } from '#helpers/hub';

type Answer = (params: unknown, signal: AbortSignal) => JsonObject | Promise<JsonObject>;

const reply = (text: string): JsonObject => ({
  role: 'assistant',
  model: 'of-the-hub',
  content: { type: 'text', text },
  stopReason: 'endTurn',
});

const questionIn = (params: unknown) =>
  /"text":"([^"]*)"/.exec(JSON.stringify(params))?.[1] ?? 'nothing';

const usual: Answer = params => reply(`the hub on ${questionIn(params)}`);
let answer = usual;
const callers: string[] = [];

const sampling = {
  async answer(params: unknown, { caller }: { caller: { client: string } }, signal: AbortSignal) {
    callers.push(caller.client);
    return await answer(params, signal);
  },
};

const servers: Readonly<Record<string, Partial<Fixture>>> = {
  '2025': { file: '../eras/server-2025.mjs' },
  '2025 with an instance for each session': {
    file: '../eras/server-2025.mjs',
    instance: 'session',
  },
  '2026': { file: '../eras/server-2026.mjs' },
  'both eras': { file: '../eras/server-2026.mjs', env: { LEGACY: 'serve' } },
};

describe.for(Object.keys(servers))('a server of %s with "sampling": "hub"', kind => {
  let hub: TestHub;
  beforeAll(async () => {
    const fixture = { ...servers[kind] };
    hub = await startHub(
      [
        { name: 'fixture', ...fixture, sampling: 'hub' },
        { name: 'plain', ...fixture },
      ],
      { sampling },
    );
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });

  const connect = (era: Era, server = 'fixture') =>
    connectEra(era, `${hub.url}/mcp/${server}`, { sampling: false });

  test.for(eras)('is answered by the hub if a client of %s cannot', async era => {
    answer = usual;
    callers.length = 0;
    await using client = await connect(era);
    assert.equal(
      await client.call('ask_model', { question: 'why' }),
      'the model said: the hub on why',
    );
    assert.deepEqual(callers, ['server:fixture']);
    assert.deepEqual(client.asked, []);
  });

  test.for(eras)('is answered by a client of %s that can', async era => {
    callers.length = 0;
    await using client = await connectEra(era, `${hub.url}/mcp/fixture`);
    const said = await client.call('ask_model', { question: 'why' });
    assert.equal(said, 'the model said: echo of why');
    assert.deepEqual(callers, []);
  });

  test.for(eras)(
    'that gets no answer causes an error with the reason for a client of %s',
    async era => {
      answer = () => {
        throw new HubError('HUB_MODEL_FAILED', 'the model is away');
      };
      await using client = await connect(era);
      const text = await client
        .call('ask_model', { question: 'why' })
        .catch(async (error: unknown) => (await refusal(Promise.reject(error))).message);
      assert.match(text, /the model is away/);
      answer = usual;
    },
  );

  test.for(eras)('still sends a client of %s requests that only a person can answer', async era => {
    await using client = await connect(era);
    assert.equal(await client.call('ask_person'), 'the person: accept {"name":"Ada"}');
  });

  test.for(eras)('may use the hub after a client of %s, and both at once', async era => {
    await using client = await connect(era);
    assert.equal(
      await client.call('ask_twice'),
      'first accept {"name":"Ada"}, then the hub on greet Ada',
    );
    assert.equal(
      await client.call('ask_both'),
      'accept {"name":"Ada"} and the hub on say something',
    );
    assert.deepEqual([...new Set(client.asked)], ['elicitation/create']);
  });

  test.for(eras)('without the setting a client of %s gets no answer of the hub', async era => {
    callers.length = 0;
    await using client = await connect(era, 'plain');
    const text = await client
      .call('ask_model', { question: 'why' })
      .catch((error: unknown) => `error: ${String(error)}`);
    assert.doesNotMatch(text, /the hub on/);
    assert.deepEqual(callers, []);
  });

  // Servers of 2025 with the SDK do not pass on a cancellation to their own requests, which end by their own timeout.
  const cancelling = kind.startsWith('2025') ? ['2026' as const] : eras;
  test.for(cancelling)(
    "aborts the model's request when a client of %s cancels its call",
    async era => {
      const asked = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      answer = (_params, signal) =>
        new Promise((_resolve, reject) => {
          asked.resolve();
          signal.addEventListener('abort', () => {
            ended.resolve();
            reject(new HubError('HUB_CALL_CANCELLED', 'cancelled'));
          });
        });
      await using client = await connect(era);
      const gone = new AbortController();
      const call = refusal(client.call('ask_model', { question: 'why' }, { signal: gone.signal }));
      await asked.promise;
      gone.abort();
      await call;
      await ended.promise;
      answer = usual;
      await until(
        () => hub.router.inFlight === 0,
        () => `${hub.router.inFlight} in flight`,
      );
    },
  );
});

test.for(eras)(
  'the state of a stateless server is returned with the answer, for a client of %s',
  async era => {
    answer = usual;
    await using hub = await startHub([{ name: 'stateless', sampling: 'hub' }], { sampling });
    await using client = await connectEra(era, `${hub.url}/mcp/stateless`, { sampling: false });
    assert.equal(await client.call('sample'), 'the state: the hub on why');
  },
);
