import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createActivity } from '#activity';
import { startCpuTimer } from '#helpers/cpu-time';
import { redactJson, redactText } from '#telemetry';

const bounds = { maxCalls: 100, maxPayloadBytes: 10_000, maxKeptBytes: 1_000 };
const redaction = { text: redactText, json: redactJson };
const open = (more: Partial<typeof bounds> = {}) =>
  createActivity({ ...bounds, ...more }, { redaction });

const call = {
  at: 1_750_000_000_000,
  method: 'tools/call',
  name: 'notes_add',
  server: 'notes',
  session: '7',
  client: 'claude-code 2.1',
  tookMs: 12.5,
  serverMs: 12.25,
  outcome: 'ok',
  request: Buffer.from('{"id":1}'),
  reply: Buffer.from('{"id":1,"result":{}}'),
} as const;

describe('a list of calls', () => {
  test('has them as they were recorded, the newest first, with ids that count up', () => {
    const activity = open();
    assert.deepEqual([activity.lastId, activity.list({}, 10)], [0, []]);
    activity.record(call);
    activity.record({ ...call, name: undefined, server: undefined, client: undefined });
    const { request, reply, ...told } = call;
    const lengths = { requestBytes: request.length, replyBytes: reply.length };
    assert.deepEqual(activity.list({}, 10), [
      { ...told, ...lengths, id: 2, name: undefined, server: undefined, client: undefined },
      { ...told, ...lengths, id: 1 },
    ]);
    assert.equal(activity.lastId, 2);
  });

  test('has the newest calls only', () => {
    const activity = open({ maxCalls: 3 });
    for (let index = 1; index <= 5; index++) activity.record({ ...call, name: `tool-${index}` });
    const names = activity.list({}, 10).map(({ name }) => name);
    assert.deepEqual(names, ['tool-5', 'tool-4', 'tool-3']);
    assert.equal(activity.find(2), undefined);
    assert.equal(activity.find(3)?.name, 'tool-3');
    for (const id of [0, 6, -1, 1.5, NaN]) assert.equal(activity.find(id), undefined);
  });

  test('has the beginning of each message, copied', () => {
    const activity = open({ maxKeptBytes: 10 });
    const request = Buffer.from('{"id":123456789}');
    activity.record({ ...call, request, reply: [Buffer.from('{"id"'), Buffer.from(':7}')] });
    request.fill(0);
    const found = activity.find(1);
    assert.deepEqual(found?.request, { text: '{"id":1234', isCut: true });
    assert.deepEqual(found?.reply, { text: '{"id":7}', isCut: false });
    assert.deepEqual([found?.requestBytes, found?.replyBytes], [16, 8]);
  });

  test('has whole numbers above 2^53 in messages as they were written', () => {
    const activity = open();
    const request = '{"id":9007199254740993,"to":[-90071992547409931]}';
    activity.record({ ...call, request: Buffer.from(request) });
    assert.deepEqual(activity.find(1)?.request, { text: request, isCut: false });
  });

  test('loses the messages of older calls first, while it still has the calls', () => {
    const activity = open({ maxPayloadBytes: 100, maxKeptBytes: 20 });
    for (let index = 0; index < 50; index++) {
      const text = JSON.stringify({ index, pad: 'x'.repeat(index % 15) });
      activity.record({ ...call, request: Buffer.from(text), reply: Buffer.from(text) });
    }
    let forgotten = 0;
    for (const { id } of activity.list({}, 50)) {
      const found = activity.find(id);
      if (!found?.request || !found.reply) {
        forgotten++;
        continue;
      }
      assert.equal(forgotten, 0, 'newer ones are kept longer');
      assert.equal(found.request.text, found.reply.text);
      assert.match(found.request.text, new RegExp(`^{"index":${id - 1},`));
    }
    assert.ok(forgotten > 40 && forgotten < 50, `${forgotten} are forgotten`);
  });

  test('has the beginning of a very long name', () => {
    const activity = open();
    activity.record({ ...call, name: `x://${'y'.repeat(1_000)}` });
    assert.equal(activity.list({}, 1)[0]?.name?.length, 301);
  });
});

describe('a value that may be secret', () => {
  const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';

  test('is not shown, whether a message is whole or cut', () => {
    const activity = open({ maxKeptBytes: 120 });
    const whole = { params: { arguments: { api_key: 'hush', text: `use ${secret}` } } };
    const cut = { ...whole, more: 'x'.repeat(200) };
    activity.record({
      ...call,
      request: Buffer.from(JSON.stringify(whole)),
      reply: Buffer.from(JSON.stringify(cut)),
    });
    const found = activity.find(1);
    assert.equal(found?.request?.isCut, false);
    assert.equal(found?.reply?.isCut, true);
    assert.doesNotMatch(JSON.stringify(found), /hush|ghp_/);
    assert.match(found?.request?.text ?? '', /"text":"use \[redacted\]"/);
  });

  test('is not shown in a name either', () => {
    const activity = open();
    activity.record({ ...call, name: `db://user:hush-hush@host/table` });
    assert.doesNotMatch(JSON.stringify([activity.list({}, 1), activity.find(1)]), /hush/);
  });
});

describe('a filter', () => {
  const activity = open();
  const rows = [
    { ...call, name: 'notes_add' },
    { ...call, name: 'notes_find', outcome: 'tool_error' },
    { ...call, name: 'mail_send', server: 'mail', session: '8', client: 'Cursor 1' },
    { ...call, name: undefined, server: undefined, method: 'tools/list', outcome: 'HUB_INTERNAL' },
  ];
  for (const row of rows) activity.record(row);

  test.for([
    [{}, [4, 3, 2, 1]],
    [{ server: 'notes' }, [2, 1]],
    [{ tool: 'notes_find' }, [2]],
    [{ client: 'Cursor 1' }, [3]],
    [{ session: '8' }, [3]],
    [{ outcome: 'ok' }, [3, 1]],
    [{ outcome: 'failed' }, [4, 2]],
    [{ outcome: 'tool_error' }, [2]],
    [{ text: 'CURSOR' }, [3]],
    [{ text: 'list' }, [4]],
    [{ text: 'notes' }, [2, 1]],
    [{ server: 'notes', outcome: 'ok' }, [1]],
    [{ before: 3 }, [2, 1]],
    [{ before: 1 }, []],
    [{ before: 99 }, [4, 3, 2, 1]],
    [{ after: 2 }, [4, 3]],
    [{ server: 'nobody' }, []],
  ] as const)('%j', ([filter, expected]) => {
    assert.deepEqual(
      activity.list(filter, 10).map(({ id }) => id),
      expected,
    );
  });

  test('returns no more calls than the limit', () => {
    assert.deepEqual(
      activity.list({ server: 'notes' }, 1).map(({ id }) => id),
      [2],
    );
  });
});

test('the last call of each session is found among those that are kept', () => {
  const activity = open({ maxCalls: 3 });
  for (const [session, at] of [
    ['1', 10],
    ['2', 20],
    ['3', 30],
    ['2', 40],
  ] as const)
    activity.record({ ...call, session, at });
  assert.deepEqual(
    activity.lastBySession(),
    new Map([
      ['2', 40],
      ['3', 30],
    ]),
  );
});

test('a listener is called for each call until it is disposed', () => {
  const activity = open();
  let heard = 0;
  activity.record(call);
  const listening = activity.changed(() => heard++);
  activity.record(call);
  activity.record(call);
  listening[Symbol.dispose]();
  listening[Symbol.dispose]();
  activity.record(call);
  const again = activity.changed(() => heard++);
  activity.record(call);
  again[Symbol.dispose]();
  assert.equal(heard, 3);
});

test('ten thousand calls are filtered in a few milliseconds', () => {
  const activity = open({ maxCalls: 10_000 });
  for (let index = 0; index < 10_000; index++)
    activity.record({ ...call, name: `t-${index % 70}` });
  const cpuMs = startCpuTimer();
  assert.equal(activity.list({ text: 'nowhere' }, 500).length, 0);
  assert.equal(activity.list({}, 500).length, 500);
  const tookMs = cpuMs();
  assert.ok(tookMs < 100, `it took ${tookMs} ms`);
});
