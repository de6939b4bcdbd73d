import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { toldOfCancelling } from '#fixtures/eras/cells';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type Era, type EraClient, type Handlers, connectEra, refusal } from '#helpers/eras';
import { type TestHub, startHub, until } from '#helpers/hub';
import { metaKeys, modernVersion } from '#mcp';
import { postModern } from '../transports/raw.ts';

const fixtures = [
  { name: 's2025', file: '../eras/server-2025.mjs' },
  { name: 's2026', file: '../eras/server-2026.mjs' },
  { name: 'own', file: '../eras/server-2025.mjs', instance: 'session' },
] as const;

const all = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const sampled = { role: 'assistant', model: 'none', content: { type: 'text', text: 'hello' } };

type Json = { readonly [name: string]: unknown };

/** Sends one stateless tool call of 2026-07-28 and returns its answer. */
async function callOf2026(
  url: string,
  tool: string,
  given: { readonly args?: object; readonly capabilities?: object; readonly more?: object } = {},
  signal?: AbortSignal,
): Promise<Json> {
  const response = await postModern(
    url,
    'tools/call',
    {
      headers: { 'mcp-name': tool },
      params: {
        name: tool,
        arguments: given.args ?? {},
        _meta: {
          [metaKeys.protocolVersion]: modernVersion,
          [metaKeys.clientCapabilities]: given.capabilities ?? all,
        },
        ...given.more,
      },
    },
    signal,
  );
  const body = await response.body();
  const text = /event-stream/.test(String(response.headers['content-type']))
    ? JSON.stringify(response.messages().at(-1))
    : body;
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : assert.fail(text);
}

/** Returns the input requests of an answer, and the state with which the client must continue. */
function inputRequired({ result }: Json): {
  readonly requestState: string;
  readonly keys: readonly string[];
  readonly requests: Json;
} {
  assert.ok(isObject(result) && result['resultType'] === 'input_required', JSON.stringify(result));
  const { requestState, inputRequests } = result;
  assert.ok(typeof requestState === 'string' && isObject(inputRequests));
  return { requestState, keys: Object.keys(inputRequests), requests: inputRequests };
}

/** Returns the text of a tool's result. */
function textOf({ result }: Json): string {
  const content = isObject(result) ? result['content'] : undefined;
  const [first]: readonly unknown[] = Array.isArray(content) ? content : [];
  return isObject(first) ? String(first['text']) : JSON.stringify(result);
}

function assertRefused({ error }: Json, code: number, message: RegExp, required?: object): void {
  assert.ok(isObject(error), 'is refused');
  assert.equal(error['code'], code);
  assert.match(String(error['message']), message);
  const { data } = error;
  if (required) assert.deepEqual(isObject(data) && data['requiredCapabilities'], required);
}

const answering = (keys: readonly string[], answer: object) => ({
  inputResponses: Object.fromEntries(keys.map(key => [key, answer])),
});

describe('a client of 2026 that gets a request of a server of 2025', () => {
  let hub: TestHub;
  let clock: ManualClock;
  let url: string;
  const tenMinutes = 10 * 60_000;

  beforeAll(async () => {
    clock = createManualClock({ passingMs: 10 });
    hub = await startHub([fixtures[0], fixtures[2]], { clock });
    url = `${hub.url}/mcp/s2025`;
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });
  /** Lets calls expire whose clients do not come back. */
  const expire = async () => {
    clock.advance(tenMinutes + 1);
    await until(() => upstream().inFlight() === 0);
    // The server allows no other caller before it has read that the call has ended.
    await until(() => upstream().onlyCaller() === 'none');
  };
  afterEach(expire);

  const upstream = () => {
    const { running } = hub.server('s2025');
    assert.ok(running);
    return running.upstream;
  };
  const refusals = async () => textOf(await callOf2026(url, 'refusals'));

  test('answers it and gets the result', async () => {
    const { requestState, keys, requests } = inputRequired(await callOf2026(url, 'ask_person'));
    assert.equal(keys.length, 1);
    assert.match(JSON.stringify(requests), /"method":"elicitation\/create".*Who is there\?/);
    assert.equal(hub.router.inFlight, 0, 'nothing of the client is in flight while it is away');
    const more = { requestState, ...answering(keys, accepted) };
    const answer = await callOf2026(url, 'ask_person', { more });
    assert.equal(textOf(answer), 'the person: accept {"name":"Ada"}');
    assert.ok(isObject(answer['result']) && answer['result']['resultType'] === 'complete');
  });

  test('gets it again if it left it out, and none twice', async () => {
    const first = inputRequired(await callOf2026(url, 'ask_person'));
    const nothing = { requestState: first.requestState, ...answering(['other'], accepted) };
    const second = inputRequired(await callOf2026(url, 'ask_person', { more: nothing }));
    assert.deepEqual(second.requests, first.requests);
    assert.notEqual(second.requestState, first.requestState);
    const more = { requestState: second.requestState, ...answering(second.keys, accepted) };
    assert.match(textOf(await callOf2026(url, 'ask_person', { more })), /accept/);
  });

  test('with a state that was modified is refused, wherever it was modified', async () => {
    const { requestState, keys } = inputRequired(await callOf2026(url, 'ask_person'));
    const swap = (at: number) =>
      `${requestState.slice(0, at)}${requestState[at] === 'A' ? 'B' : 'A'}${requestState.slice(at + 1)}`;
    const wrong = [
      ...Array.from(requestState, (_, at) => swap(at)),
      `${requestState}=`,
      ` ${requestState}`,
      requestState.slice(0, -1),
      requestState.toUpperCase(),
      '',
      'null',
      'x'.repeat(100_000),
    ];
    for (const state of wrong) {
      const more = { requestState: state, ...answering(keys, accepted) };
      assertRefused(await callOf2026(url, 'ask_person', { more }), -32602, /requestState/);
    }
    for (const state of [null, 1, {}, [requestState]]) {
      const more = { requestState: state, ...answering(keys, accepted) };
      assertRefused(await callOf2026(url, 'ask_person', { more }), -32602, /requestState/);
    }
    // Attempts with a wrong state do not end the call: the true state still continues it.
    const more = { requestState, ...answering(keys, accepted) };
    assert.match(textOf(await callOf2026(url, 'ask_person', { more })), /accept/);
  });

  test('with the state of another tool, of other arguments or of another endpoint is refused', async () => {
    const args = { question: 'why?' };
    const { requestState, keys } = inputRequired(await callOf2026(url, 'ask_model', { args }));
    const more = { requestState, ...answering(keys, sampled) };
    for (const [at, tool, others] of [
      [url, 'ask_person', args],
      [url, 'ask_model', { question: 'why not?' }],
      [`${hub.url}/mcp`, 's2025_ask_model', args],
    ] as const)
      assertRefused(await callOf2026(at, tool, { args: others, more }), -32602, /requestState/);
    assert.equal(
      textOf(await callOf2026(url, 'ask_model', { args, more })),
      'the model said: hello',
    );
  });

  test('with a state that was used is refused, in the next round and at the end', async () => {
    const first = inputRequired(await callOf2026(url, 'ask_twice'));
    const once = { requestState: first.requestState, ...answering(first.keys, accepted) };
    const second = inputRequired(await callOf2026(url, 'ask_twice', { more: once }));
    assertRefused(await callOf2026(url, 'ask_twice', { more: once }), -32602, /used already/);
    const twice = { requestState: second.requestState, ...answering(second.keys, sampled) };
    assert.match(textOf(await callOf2026(url, 'ask_twice', { more: twice })), /then hello/);
    for (const more of [once, twice])
      assertRefused(await callOf2026(url, 'ask_twice', { more }), -32602, /requestState/);
  });

  test('with one state twice at the same time gets the result once', async () => {
    const { requestState, keys } = inputRequired(await callOf2026(url, 'ask_person'));
    const more = { requestState, ...answering(keys, accepted) };
    const answers = await Promise.all([1, 2, 3].map(() => callOf2026(url, 'ask_person', { more })));
    const results = answers.filter(({ result }) => result !== undefined);
    assert.equal(results.length, 1);
    for (const answer of answers)
      if (answer['error']) assertRefused(answer, -32602, /requestState/);
  });

  test('and answers too late is refused, after the server got an error', async () => {
    const before = await refusals();
    const { requestState, keys } = inputRequired(await callOf2026(url, 'ask_person'));
    clock.advance(tenMinutes + 1);
    const more = { requestState, ...answering(keys, accepted) };
    assertRefused(await callOf2026(url, 'ask_person', { more }), -32602, /expired|is over/);
    const after = JSON.parse(await refusals());
    assert.equal(after.length, JSON.parse(before).length + 1);
    assert.match(after.at(-1), /elicitation\/create: .*did not come back/);
  });

  test('and never answers leaves nothing', async () => {
    const timers = clock.waiting;
    for (let times = 0; times < 20; times++) {
      inputRequired(await callOf2026(url, 'ask_person'));
      assert.equal(upstream().inFlight(), 1, 'the call waits at the server');
      assert.ok(clock.waiting > timers);
      await expire();
      assert.equal(clock.waiting, timers);
    }
    assert.equal(hub.router.inFlight, 0);
  });

  test('and is away blocks requests of the shared server to others, until it is back or too late', async () => {
    const { requestState, keys } = inputRequired(await callOf2026(url, 'ask_person'));
    assertRefused(
      await callOf2026(url, 'ask_person'),
      -32004,
      /several clients.*"instance": "session"/,
    );
    const more = { requestState, ...answering(keys, accepted) };
    assert.match(textOf(await callOf2026(url, 'ask_person', { more })), /accept/);
    inputRequired(await callOf2026(url, 'ask_person'));
    await expire();
    inputRequired(await callOf2026(url, 'ask_person'));
  });

  test.for(['2025', '2026'] as const)(
    'and never answers blocks requests to a client of %s for ninety seconds, and then its call ends',
    async era => {
      inputRequired(await callOf2026(url, 'ask_person'));
      await using client = await connectEra(era, url);
      const { message } = await refusal(client.call('ask_person'));
      assert.match(message, /several clients/);
      clock.advance(90_000);
      assert.equal(upstream().inFlight(), 0, 'the call is over');
      // By then the server has read that the call was cancelled.
      await until(() => upstream().onlyCaller() === 'none');
      assert.equal(await client.call('ask_person'), 'the person: accept {"name":"Ada"}');
      assert.match(JSON.parse(await refusals()).at(-1), /did not come back within 90 seconds/);
    },
  );

  test('at an instance of its own may take ten minutes, as it blocks no other client', async () => {
    const own = `${hub.url}/mcp/own`;
    const { requestState, keys } = inputRequired(await callOf2026(own, 'ask_person'));
    clock.advance(tenMinutes - 1);
    const more = { requestState, ...answering(keys, accepted) };
    assert.match(textOf(await callOf2026(own, 'ask_person', { more })), /accept/);
  });

  test('and disconnects cancels the call at the server', async () => {
    const hangingUp = new AbortController();
    const lost = refusal(callOf2026(url, 'wait', { args: { label: 'hung-up' } }, hangingUp.signal));
    await using client = await connectEra('2026', url);
    // The server would process a cancellation that arrives together with its request before the tool starts.
    while (!JSON.parse(await client.call('cancelled')).waiting.includes('hung-up'));
    hangingUp.abort();
    await lost;
    await toldOfCancelling(client, 'cancelled', 'hung-up');
    await until(() => upstream().inFlight() === 0);
  });

  test('without the capability gets the capability that the server requires', async () => {
    const answer = await callOf2026(url, 'ask_model', {
      args: { question: 'why?' },
      capabilities: { elicitation: {} },
    });
    assertRefused(answer, -32021, /capability "sampling"/, { sampling: {} });
    const page = await callOf2026(url, 'ask_person_by_url', { capabilities: { elicitation: {} } });
    assertRefused(page, -32021, /capability "elicitation\.url"/, { elicitation: { url: {} } });
  });
});

describe('a client of 2025', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub(fixtures);
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });
  const at = (era: Era, server: string, handlers: Handlers = {}) =>
    connectEra(era, `${hub.url}/mcp/${server}`, handlers);

  test('without sampling gets an error with the reason if a server of 2026 requests it', async () => {
    await using client = await at('2025', 's2026', { sampling: false });
    const { message } = await refusal(client.call('ask_model', { question: 'why?' }));
    assert.match(message, /sampling/);
    assert.deepEqual(client.asked, []);
  });

  test('without sampling gets no such request of a server of 2025', async () => {
    await using client = await at('2025', 's2025', { sampling: false });
    const { message } = await refusal(client.call('ask_model', { question: 'why?' }));
    assert.match(message, /capability "sampling"/);
    assert.deepEqual(client.asked, []);
  });

  test('that refuses a request of a server of 2026 gets an error that says so', async () => {
    await using client = await at('2025', 's2026', {
      sampling: () => {
        throw new Error('the model is out');
      },
    });
    const { message } = await refusal(client.call('ask_model', { question: 'why?' }));
    assert.match(message, /refused sampling\/createMessage.*the model is out/);
  });

  test('that cancels while a server of 2026 waits for its answer is not awaited', async () => {
    const aborting = new AbortController();
    await using client = await at('2025', 's2026', {
      sampling: () => {
        aborting.abort(new Error('the person went home'));
        return new Promise<string>(() => {});
      },
    });
    await refusal(client.call('ask_model', { question: 'why?' }, { signal: aborting.signal }));
    await until(() => hub.router.inFlight === 0);
    assert.equal(await client.call('count', { to: 1 }), 'counted to 1');
  });

  test('gets no request of a shared server while another has a call in flight there', async () => {
    await using waiting = await at('2025', 's2025');
    await using asking = await at('2025', 's2025');
    const over = await inFlight(waiting, 'shared');
    const { message } = await refusal(asking.call('ask_model', { question: 'why?' }));
    assert.match(message, /several clients have calls in flight at s2025/);
    assert.match(message, /"instance": "session"/);
    assert.deepEqual([...waiting.asked, ...asking.asked], [], 'nobody is asked for another');
    await over();
    assert.equal(
      await asking.call('ask_model', { question: 'why?' }),
      'the model said: echo of why?',
    );
    const shown = await (await fetch(`${hub.url}/servers/s2025`)).text();
    assert.match(
      shown,
      /"advice":\["it sends requests to clients: .*\\"instance\\": \\"session\\"/,
    );
  });

  test('gets requests of its own instance, whatever others do', async () => {
    await using waiting = await at('2025', 'own');
    await using asking = await at('2025', 'own', { sampling: () => 'mine' });
    const over = await inFlight(waiting, 'own');
    assert.equal(await asking.call('ask_model', { question: 'why?' }), 'the model said: mine');
    assert.deepEqual(waiting.asked, []);
    await over();
    const shown = await (await fetch(`${hub.url}/servers/own`)).text();
    assert.doesNotMatch(shown, /"advice"/);
  });

  test('gets the request of its own instance when two instances send one at the same time', async () => {
    const clients = await Promise.all(
      ['one', 'two', 'three'].map(name => at('2025', 'own', { sampling: () => name })),
    );
    const said = await Promise.all(
      clients.map(client => client.call('ask_model', { question: 'who?' })),
    );
    assert.deepEqual(
      said,
      ['one', 'two', 'three'].map(name => `the model said: ${name}`),
    );
    for (const client of clients) await client[Symbol.asyncDispose]();
  });
});

/** Starts a call and waits for its progress. The returned function cancels it. */
async function inFlight(client: EraClient, label: string): Promise<() => Promise<void>> {
  const begun = Promise.withResolvers<void>();
  const aborting = new AbortController();
  const over = refusal(
    client.call('wait', { label }, { signal: aborting.signal, onProgress: () => begun.resolve() }),
  );
  await begun.promise;
  return async () => {
    aborting.abort(new Error('done'));
    await over;
    await toldOfCancelling(client, 'cancelled', label);
  };
}
