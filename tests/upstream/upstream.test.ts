import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, isObject } from '#core';
import { asBytes } from '#helpers/calls';
import { createManualClock } from '#helpers/clock';
import { startCpuTimer } from '#helpers/cpu-time';
import { createRecordingLog } from '#helpers/hub';
import { type Receiver, createLineChannel, membersOf, rawText, readMessage } from '#jsonrpc';
import type { ServerRequest, Owner, ServerNotification } from '#upstream';
import type { Pace } from '../../hub/upstream/pace.ts';
import { createUpstream } from '../../hub/upstream/upstream.ts';

/** Creates an upstream over a channel whose other end is the test. */
function connect(
  options: {
    readonly maxLineBytes?: number;
    /** Returns the number of bytes that the server has not read yet. */
    readonly waitingBytes?: () => number;
    readonly tellsWhose?: boolean;
    readonly pace?: Pick<Pace, 'count'>;
  } = {},
) {
  const written: string[] = [];
  const notified: ServerNotification[] = [];
  const asked: ServerRequest[] = [];
  const { log, logged } = createRecordingLog();
  const clock = createManualClock();
  const line = createLineChannel(
    {
      server: 'files',
      maxLineBytes: options.maxLineBytes ?? 1024 * 1024,
      maxWaitingBytes: 1024 * 1024,
    },
    {
      write: chunk => void written.push(...chunk.toString().trimEnd().split('\n')),
      waitingBytes: options.waitingBytes ?? (() => 0),
      end() {},
    },
  );
  let receiver: Receiver | undefined;
  const channel = {
    ...line.channel,
    ...(options.tellsWhose !== undefined && { tellsWhose: options.tellsWhose }),
    listen(to: Receiver) {
      receiver = to;
      line.channel.listen(to);
    },
  };
  const upstream = createUpstream({ server: 'files' }, channel, {
    clock,
    log,
    output: log,
    notified: notification => void notified.push(notification),
    serverRequest: one => void asked.push(one),
    ...(options.pace && { pace: { countNoise() {}, countCopies() {}, ...options.pace } }),
  });
  return {
    upstream,
    clock,
    notified,
    asked,
    logged,
    line,
    /** Returns the lines sent to the server since the last call, including those of this turn. */
    async written(): Promise<readonly string[]> {
      await new Promise(resolve => setImmediate(resolve));
      return written.splice(0);
    },
    /** Receives a message of the server that is related to the request with this id. */
    saysAbout(id: number, message: object) {
      const read = readMessage(Buffer.from(JSON.stringify(message)));
      if (read.kind !== 'malformed') receiver?.message(read, String(id));
    },
    says: (...lines: readonly (string | object)[]) =>
      line.push(
        Buffer.from(
          lines.map(it => `${typeof it === 'string' ? it : JSON.stringify(it)}\n`).join(''),
        ),
      ),
  };
}

type Connection = ReturnType<typeof connect>;

/** Creates a client that answers no requests. */
const newOwner = (hasOpenRequest = false): Owner => ({
  serverRequest() {},
  notification() {},
  hasOpenRequest,
});

/** Relays a request that is given as JSON text. */
function relay(
  { upstream }: Connection,
  text: string,
  options: { readonly timeoutMs?: number; readonly waitedMs?: number; readonly owner?: Owner } = {},
) {
  const request = readMessage(Buffer.from(text));
  if (request.kind !== 'request') return assert.fail(`not a request: ${text}`);
  const meta = membersOf(request.bytes, request.params)?.get('_meta');
  const progressToken = membersOf(request.bytes, meta)?.get('progressToken');
  const token = progressToken && rawText(request.bytes, progressToken);
  const related: string[] = [];
  const relayed = upstream.relay(
    asBytes(request, progressToken),
    {
      owner: options.owner ?? newOwner(),
      responseStream: { send: bytes => void related.push(bytes.toString()) },
      progressToken: token,
    },
    options.timeoutMs ?? 5_000,
    options.waitedMs,
  );
  return {
    cancel: (reason: string) => relayed.cancel(reason),
    answer: relayed.answer.then(String),
    related,
  };
}

async function errorOf(promise: Promise<unknown>): Promise<HubError> {
  const error = await promise.then(
    value => assert.fail(`it was answered: ${String(value)}`),
    (reason: unknown) => reason,
  );
  return error instanceof HubError ? error : assert.fail(String(error));
}

const idIn = (text: string | undefined): unknown => {
  const value: unknown = JSON.parse(text ?? 'null');
  return isObject(value) ? value['id'] : assert.fail('no object');
};

describe('ids', () => {
  for (const id of ['1', '0', '-7', '9007199254740993', '"a"', '""', String.raw`"\u0041\"\\ é😀"`])
    test(`${id} is returned byte by byte, and the server gets one of the hub's own`, async () => {
      const connection = connect();
      const call = relay(
        connection,
        `{"jsonrpc":"2.0","id":${id},"method":"x","params":{"a":[1 , 2]}}`,
      );
      const [sent] = await connection.written();
      assert.equal(sent, '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[1 , 2]}}');
      connection.says('{"result":{"é":"\\u00e9"},"jsonrpc":"2.0","id":1}');
      assert.equal(await call.answer, `{"result":{"é":"\\u00e9"},"jsonrpc":"2.0","id":${id}}`);
      assert.equal(connection.upstream.inFlight(), 0);
    });

  test('of two clients that are the same are distinguished, in any order of the responses', async () => {
    const connection = connect();
    const first = relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}');
    const second = relay(connection, '{"jsonrpc":"2.0","id":1,"method":"y"}');
    const ids = (await connection.written()).map(idIn);
    assert.deepEqual(ids, [1, 2]);
    connection.says(
      { jsonrpc: '2.0', id: 2, result: 'second' },
      { jsonrpc: '2.0', id: 1, result: 'first' },
    );
    assert.equal(await first.answer, '{"jsonrpc":"2.0","id":1,"result":"first"}');
    assert.equal(await second.answer, '{"jsonrpc":"2.0","id":1,"result":"second"}');
  });

  test('of an error response are replaced, and the error is unchanged', async () => {
    const connection = connect();
    const call = relay(connection, '{"jsonrpc":"2.0","id":"e","method":"x"}');
    connection.says(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"no","data":{"x":1.50}}}',
    );
    assert.equal(
      await call.answer,
      '{"jsonrpc":"2.0","id":"e","error":{"code":-32042,"message":"no","data":{"x":1.50}}}',
    );
  });
});

describe('progress', () => {
  for (const token of ['7', '"t"', '"1"', '-1', String.raw`"\u00e9\""`, '1.5', 'null'])
    test(`is returned under the token ${token}`, async () => {
      const connection = connect();
      const call = relay(
        connection,
        `{"jsonrpc":"2.0","id":5,"method":"x","params":{"_meta":{"progressToken":${token}},"a":1}}`,
      );
      const [sent] = await connection.written();
      assert.equal(
        sent,
        '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1},"a":1}}',
      );
      connection.says(
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5,"progressToken":1}}',
      );
      assert.deepEqual(call.related, [
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5,"progressToken":${token}}}`,
      ]);
      connection.says({ jsonrpc: '2.0', id: 1, result: {} });
      await call.answer;
    });

  test('of a request without a token is dropped, and that of no pending request belongs to none', async () => {
    const connection = connect();
    const call = relay(connection, '{"jsonrpc":"2.0","id":5,"method":"x"}');
    const ofNone = [2, '1', null, [1], 987654321];
    for (const progressToken of [1, ...ofNone])
      connection.says({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken },
      });
    connection.says({ jsonrpc: '2.0', method: 'notifications/progress' });
    connection.says({ jsonrpc: '2.0', id: 1, result: {} });
    await call.answer;
    assert.deepEqual(call.related, []);
    // Progress with an unknown token is passed on, as it may belong to a task whose request is already answered.
    assert.deepEqual(
      connection.notified.map(({ bytes }) => JSON.parse(bytes.toString()).params?.progressToken),
      [...ofNone, undefined],
    );
  });

  test('is not sent for a call that a busy server refused; the token can be used again', async () => {
    let waiting = 2 * 1024 * 1024;
    const connection = connect({ waitingBytes: () => waiting });
    const text = '{"jsonrpc":"2.0","id":5,"method":"x","params":{"_meta":{"progressToken":"t"}}}';
    const report = (progressToken: number) =>
      connection.says({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken },
      });
    const owner = newOwner();
    assert.throws(() => relay(connection, text, { owner }), { code: 'HUB_SERVER_BUSY' });
    assert.equal(connection.upstream.inFlight(), 0);
    assert.equal(connection.upstream.onlyCaller(), 'none');
    assert.equal(connection.upstream.isAtWork(), false);
    waiting = 0;
    const call = relay(connection, text, { owner });
    for (const id of [1, 2]) report(id);
    assert.deepEqual(
      call.related.map(related => JSON.parse(related).params),
      [{ progressToken: 't' }],
    );
    connection.says({ jsonrpc: '2.0', id: 2, result: {} });
    await call.answer;
  });

  test('keeps a call from timing out, for one timeout after the latest notification', async () => {
    const connection = connect();
    const call = relay(
      connection,
      '{"jsonrpc":"2.0","id":5,"method":"x","params":{"_meta":{"progressToken":"t"}}}',
      { timeoutMs: 1_000 },
    );
    const failed = errorOf(call.answer);
    for (let step = 1; step <= 4; step++) {
      connection.clock.advance(900);
      connection.says({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 1, progress: step },
      });
    }
    assert.equal(call.related.length, 4);
    connection.clock.advance(999);
    assert.equal(connection.upstream.inFlight(), 1);
    connection.clock.advance(1);
    assert.equal((await failed).code, 'HUB_CALL_TIMEOUT');
  });
});

test('a call that was queued has the rest of its time limit, and all of it after progress', async () => {
  const connection = connect();
  const text = '{"jsonrpc":"2.0","id":5,"method":"x","params":{"_meta":{"progressToken":"t"}}}';
  const late = { timeoutMs: 1_000, waitedMs: 700 };
  const silent = errorOf(relay(connection, text, late).answer);
  const alive = errorOf(relay(connection, text, late).answer);
  const answered = relay(connection, text, late).answer;
  connection.says({ jsonrpc: '2.0', id: 3, result: {} });
  await answered;
  assert.equal(connection.clock.waiting, 2);
  connection.clock.advance(299);
  assert.equal(connection.upstream.inFlight(), 2);
  connection.says({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 2, progress: 1 },
  });
  connection.clock.advance(1);
  assert.equal(connection.upstream.inFlight(), 1);
  const { code, message } = await silent;
  assert.equal(code, 'HUB_CALL_TIMEOUT');
  assert.match(message, /within 1 s/);
  connection.clock.advance(998);
  assert.equal(connection.upstream.inFlight(), 1);
  connection.clock.advance(1);
  assert.equal((await alive).code, 'HUB_CALL_TIMEOUT');
});

describe('a cancelled call', () => {
  test('by timeout: the server is notified, the client gets HUB_CALL_TIMEOUT, a late response is dropped', async () => {
    const connection = connect();
    const call = relay(connection, '{"jsonrpc":"2.0","id":5,"method":"tools/call"}', {
      timeoutMs: 30,
    });
    connection.clock.advance(30);
    const error = await errorOf(call.answer);
    assert.equal(error.code, 'HUB_CALL_TIMEOUT');
    assert.match(error.message, /^files did not answer tools\/call within 0.03 s/);
    assert.deepEqual(connection.logged, [
      {
        level: 'warn',
        message: 'a call timed out',
        fields: { method: 'tools/call', timeoutMs: 30 },
      },
    ]);
    const [, cancelled] = await connection.written();
    assert.deepEqual(JSON.parse(cancelled ?? ''), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, reason: 'the call timed out' },
    });
    connection.says({ jsonrpc: '2.0', id: 1, result: 'late' });
    assert.equal(connection.upstream.inFlight(), 0);
  });

  test('by the client: the server is notified under its own id, and there is one response', async () => {
    const connection = connect();
    relay(connection, '{"jsonrpc":"2.0","id":1,"method":"other"}').answer.catch(() => {});
    const call = relay(connection, '{"jsonrpc":"2.0","id":1,"method":"tools/call"}');
    call.cancel('changed my mind');
    call.cancel('twice');
    const error = await errorOf(call.answer);
    assert.equal(error.code, 'HUB_CALL_CANCELLED');
    const sent = await connection.written();
    assert.deepEqual(
      sent.slice(2).map(text => JSON.parse(text)),
      [
        {
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: 2, reason: 'changed my mind' },
        },
        { jsonrpc: '2.0', id: 3, method: 'ping' },
      ],
    );
    assert.equal(connection.upstream.onlyCaller(), 'several', 'it has not read that yet');
    connection.says({ jsonrpc: '2.0', id: 3, result: {} });
    await new Promise(resolve => setImmediate(resolve));
    assert.ok(typeof connection.upstream.onlyCaller() === 'object');
    connection.says({ jsonrpc: '2.0', id: 2, result: 'late' });
    assert.equal(connection.upstream.inFlight(), 1);
  });

  test('at a server with a stream per call is followed by no ping, and blocks no others', async () => {
    const connection = connect({ tellsWhose: true });
    const { notified } = connection;
    const [ada, alan] = [newOwner(), newOwner()];
    relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}', { owner: ada }).answer.catch(
      () => {},
    );
    const call = relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}', { owner: alan });
    call.cancel('enough');
    await errorOf(call.answer);
    const sent = (await connection.written()).map(text => JSON.parse(text).method);
    assert.deepEqual(sent, ['x', 'x', 'notifications/cancelled']);
    for (const id of [1, 2])
      connection.saysAbout(id, { jsonrpc: '2.0', method: 'notifications/message', params: {} });
    const owners = notified.map(({ about }) => (typeof about === 'object' ? about.owner : about));
    assert.deepEqual(owners, [ada, 'gone']);
    // A message that names no request may belong to the cancelled call.
    assert.equal(connection.upstream.onlyCaller(), 'several');
    connection.upstream.fail(new HubError('HUB_SERVER_DOWN', 'over'));
  });

  test('after its response: nothing is sent', async () => {
    const connection = connect();
    const call = relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}');
    connection.says({ jsonrpc: '2.0', id: 1, result: {} });
    await call.answer;
    await connection.written();
    call.cancel('too late');
    assert.deepEqual(await connection.written(), []);
  });

  test('that is initialize: nothing is sent, as the protocol forbids it', async () => {
    const connection = connect();
    const failed = errorOf(connection.upstream.request('initialize', {}, 20));
    connection.clock.advance(20);
    const error = await failed;
    assert.equal(error.code, 'HUB_CALL_TIMEOUT');
    assert.equal((await connection.written()).length, 1);
    assert.deepEqual(connection.logged, [], 'whoever started the server says so');
  });
});

describe('a misbehaving server', () => {
  test('cannot answer an unknown request, one twice, or one by another type of id', async () => {
    const connection = connect();
    const first = relay(connection, '{"jsonrpc":"2.0","id":"a","method":"x"}');
    const second = relay(connection, '{"jsonrpc":"2.0","id":"b","method":"x"}');
    connection.says(
      { jsonrpc: '2.0', id: 99, result: 'lie' },
      { jsonrpc: '2.0', id: 'a', result: 'lie' },
      { jsonrpc: '2.0', id: '1', result: 'lie' },
      { jsonrpc: '2.0', id: -1, result: 'lie' },
      { jsonrpc: '2.0', id: 1, result: 'truth' },
      { jsonrpc: '2.0', id: 1, result: 'lie' },
      '{"jsonrpc":"2.0","id":99,"result":"lie","id":2}',
      '{"jsonrpc":"2.0","id":2}',
      '{"id":2,"result":"lie"}',
      { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } },
    );
    assert.equal(await first.answer, '{"jsonrpc":"2.0","id":"a","result":"truth"}');
    assert.equal(connection.upstream.inFlight(), 1);
    connection.says({ jsonrpc: '2.0', id: 2, result: 'truth' });
    assert.equal(await second.answer, '{"jsonrpc":"2.0","id":"b","result":"truth"}');
    assert.ok(connection.logged.some(({ message }) => /answers no request/.test(message)));
  });

  test('is read more slowly if it sends large responses to unknown requests', () => {
    const counted: number[] = [];
    const connection = connect({ pace: { count: bytes => void counted.push(bytes) } });
    const text = 'x'.repeat(160_000);
    connection.says(
      { jsonrpc: '2.0', id: 7, result: { text } },
      '{"jsonrpc":"2.0","id":8,"result":{}}',
    );
    assert.deepEqual(
      counted.map(bytes => Math.floor(bytes / 1_000)),
      [10, 0],
    );
  });

  test('that sends requests to clients gets the given answer; its ping is answered', async () => {
    const connection = connect();
    connection.says(
      { jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: {} },
      { jsonrpc: '2.0', id: 's-2', method: 'ping' },
    );
    assert.deepEqual(await connection.written(), ['{"jsonrpc":"2.0","id":"s-2","result":{}}']);
    const [asked] = connection.asked;
    assert.equal(asked?.request.method, 'sampling/createMessage');
    asked?.answer(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'));
    assert.deepEqual(await connection.written(), ['{"jsonrpc":"2.0","id":1,"result":{}}']);
  });

  test('has its requests and notifications related to the request in whose stream they came', async () => {
    const connection = connect();
    const { notified, asked, upstream } = connection;
    const say = (id: number) => {
      connection.saysAbout(id, { jsonrpc: '2.0', method: 'notifications/message', params: {} });
      connection.saysAbout(id, { jsonrpc: '2.0', id: 's', method: 'roots/list' });
    };
    const [ada, alan] = [newOwner(), newOwner()];
    const ofAda = relay(connection, '{"jsonrpc":"2.0","id":"a","method":"x"}', { owner: ada });
    const ofAlan = relay(connection, '{"jsonrpc":"2.0","id":"b","method":"x"}', { owner: alan });
    const own = upstream.request('tools/list', undefined, 5_000);
    for (const id of [2, 1, 3]) say(id);
    ofAlan.cancel('enough');
    await errorOf(ofAlan.answer);
    connection.says({ jsonrpc: '2.0', id: 1, result: {} }, { jsonrpc: '2.0', id: 3, result: {} });
    await Promise.all([ofAda.answer, own]);
    for (const id of [2, 1]) say(id);
    connection.says({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    const owners = (all: readonly { readonly about?: ServerNotification['about'] | undefined }[]) =>
      all.map(({ about }) => (typeof about === 'object' ? about.owner : about));
    const expected = [alan, ada, 'none', 'gone', 'gone'];
    assert.deepEqual(owners(asked), expected);
    assert.deepEqual(owners(notified), [...expected, undefined]);
  });

  test('may send batches, of which each message counts', async () => {
    const connection = connect();
    const first = relay(connection, '{"jsonrpc":"2.0","id":"a","method":"x"}');
    const second = relay(connection, '{"jsonrpc":"2.0","id":"b","method":"x"}');
    connection.says([
      { jsonrpc: '2.0', id: 2, result: 2 },
      { jsonrpc: '2.0', method: 'notifications/message', params: {} },
      { jsonrpc: '2.0', id: 1, result: 1 },
    ]);
    assert.match(await first.answer, /"result":1/);
    assert.match(await second.answer, /"result":2/);
    assert.equal(connection.notified.length, 1);
  });

  for (const idFirst of [true, false])
    test(`with a response above the limit fails that call only (id ${idFirst ? 'first' : 'last'})`, async () => {
      const connection = connect({ maxLineBytes: 1000 });
      const large = relay(connection, '{"jsonrpc":"2.0","id":"a","method":"x"}');
      const small = relay(connection, '{"jsonrpc":"2.0","id":"b","method":"x"}');
      const result = 'x'.repeat(5000);
      connection.says(
        idFirst ? { jsonrpc: '2.0', id: 1, result } : { result, jsonrpc: '2.0', id: 1 },
        { jsonrpc: '2.0', id: 2, result: 'small' },
      );
      const error = await errorOf(large.answer);
      assert.equal(error.code, 'HUB_LINE_TOO_LONG');
      assert.match(error.message, /^files answered with 50\d\d bytes/);
      assert.match(await small.answer, /small/);
    });

  test('has output that is not JSON-RPC logged, not used as a response', async () => {
    const connection = connect();
    const call = relay(connection, '{"jsonrpc":"2.0","id":"a","method":"x"}');
    connection.says('downloading...', '{"level":"info"}', '[warn] {', {
      jsonrpc: '2.0',
      id: 1,
      result: 1,
    });
    await call.answer;
    assert.equal(connection.logged.filter(({ message }) => /JSON-RPC/.test(message)).length, 3);
  });
});

describe('the end of the server', () => {
  test('fails all requests in flight, and later ones with the same reason', async () => {
    const connection = connect();
    const calls = Array.from({ length: 3 }, () =>
      relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}'),
    );
    const own = errorOf(connection.upstream.request('ping', undefined, 5_000));
    const gone = new HubError('HUB_SERVER_DOWN', 'files is gone');
    connection.upstream.fail(gone);
    for (const call of calls) assert.equal(await errorOf(call.answer), gone);
    assert.equal(await own, gone);
    assert.throws(() => relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}'), gone);
    assert.equal(connection.upstream.inFlight(), 0);
  });

  test('is seen on its connection, and refuses requests that it still sends', async () => {
    const connection = connect();
    connection.says({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
    const ended = connection.asked[0]?.connection.ended;
    assert.equal(ended?.aborted, false);
    const gone = new HubError('HUB_SERVER_DOWN', 'files is gone');
    connection.upstream.fail(gone);
    assert.equal(ended?.reason, gone);
    connection.says({ jsonrpc: '2.0', id: 2, method: 'roots/list' });
    assert.match((await connection.written()).join(), /"id":2,"error":.*files is gone/);
    assert.equal(connection.asked.length, 1);
  });

  test('with a closed channel fails a call, and keeps nothing of it', () => {
    const connection = connect();
    connection.line.ended({ reason: 'it exited' });
    assert.throws(() => relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}'), {
      code: 'HUB_SERVER_DOWN',
    });
    assert.equal(connection.upstream.inFlight(), 0);
  });
});

describe('the client of a notification without a request', () => {
  test('is the one with calls in flight; it is unknown with several or no calls', async () => {
    const connection = connect();
    const [ada, alan] = [newOwner(), newOwner()];
    const call = (owner: Owner) =>
      relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}', { owner });
    assert.equal(connection.upstream.onlyCaller(), 'none');
    connection.upstream.request('ping', undefined, 5_000).catch(() => {});
    assert.equal(connection.upstream.onlyCaller(), 'none', "the hub's own requests do not count");
    call(ada).answer.catch(() => {});
    const second = call(ada);
    const only = connection.upstream.onlyCaller();
    assert.ok(typeof only === 'object' && only.owner === ada);
    assert.equal(connection.upstream.onlyOwner(), ada);
    only.responseStream.send(Buffer.from('news'));
    assert.deepEqual(second.related, ['news'], 'the newest of its requests');
    call(alan).answer.catch(() => {});
    second.answer.catch(() => {});
    assert.equal(connection.upstream.onlyCaller(), 'several');
    assert.equal(connection.upstream.onlyOwner(), 'several');
    connection.upstream.fail(new HubError('HUB_SERVER_DOWN', 'over'));
  });

  test('is known without a search in all requests in flight', async () => {
    const connection = connect();
    const owner = newOwner();
    for (let count = 0; count < 20_000; count++) {
      if (count % 1_000 === 0) await connection.written();
      relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}', {
        owner,
        timeoutMs: 2 ** 30,
      }).answer.catch(() => {});
    }
    const cpuMs = startCpuTimer();
    for (let round = 0; round < 1_000; round++) connection.upstream.onlyCaller();
    const tookMs = cpuMs();
    connection.upstream.fail(new HubError('HUB_SERVER_DOWN', 'over'));
    // A scan of all 20,000 pending calls in each round would take some seconds.
    assert.ok(tookMs < 500, `${tookMs} ms`);
  });

  test('10,000 calls leave nothing behind', async () => {
    const connection = connect();
    for (let round = 0; round < 100; round++) {
      const calls = Array.from({ length: 100 }, () =>
        relay(connection, '{"jsonrpc":"2.0","id":1,"method":"x"}'),
      );
      const answers = (await connection.written()).map(text => ({
        jsonrpc: '2.0',
        id: idIn(text),
        result: {},
      }));
      connection.says(...answers);
      await Promise.all(calls.map(({ answer }) => answer));
    }
    assert.equal(connection.upstream.inFlight(), 0);
    assert.equal(connection.clock.waiting, 0, 'no timer is left');
  });
});
