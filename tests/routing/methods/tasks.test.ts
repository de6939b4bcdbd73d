import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { encodeError, encodeResult, readAnswer, splice, whole } from '#jsonrpc';
import type { Endpoint } from '#routing';
import type { Server } from '#servers';
import type { Call } from '../../../hub/routing/call.ts';
import type { Method } from '../../../hub/routing/methods/method.ts';
import {
  knowsTasks,
  modernTasksOfAll,
  modernTasksOfOne,
  tasksOfAll,
  tasksOfOne,
} from '../../../hub/routing/methods/tasks.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { type Script, createScriptedServer } from '../scripted-server.ts';
import { callWith, modernMeta, sessionOf } from '../steps/scripted-call.ts';

const extension = 'io.modelcontextprotocol/tasks';

test.each([
  [{ extensions: { [extension]: {} } }, true],
  [{ extensions: { [extension]: null } }, true],
  [{ extensions: {} }, false],
  [{ extensions: [extension] }, false],
  [{ experimental: { [extension]: {} } }, false],
  [{}, false],
])(
  'whether a client of 2026-07-28 with the capabilities %j supports tasks: %s',
  (capabilities, expected) => {
    const _meta = modernMeta({ 'io.modelcontextprotocol/clientCapabilities': capabilities });
    assert.equal(knowsTasks(callWith('tools/call', { _meta })), expected);
  },
);

test('a client without capabilities does not support tasks', () => {
  assert.equal(knowsTasks(callWith('tools/call', {})), false);
});

function scene(scripts: Readonly<Record<string, Script>>) {
  const scripted = Object.entries(scripts).map(([name, script]) =>
    createScriptedServer({ name }, script),
  );
  const all = createScriptedNeeds(scripted);
  const session = sessionOf();
  const server = (at: number): Server => scripted[at]?.server ?? assert.fail(`no server ${at}`);

  function resolve(methods: typeof tasksOfAll, call: Call) {
    const method = new Map<string, Method>(methods).get(call.request.method);
    return method?.(call, all.needs) ?? assert.fail(`no method ${call.request.method}`);
  }

  return {
    ...all,
    scripted,
    session,
    server,
    resolve,
    /** Creates a task of the session at a server. Returns its id for the client. */
    make(at: number, taskId: string, owner = session) {
      const answer = readAnswer(encodeResult('1', JSON.stringify({ task: { taskId } })));
      return all.tasks.made(server(at), server(at), answer, owner)?.publicId;
    },
    async list() {
      const call = callWith('tasks/list', {}, { session });
      const reply = await resolve(tasksOfAll, call).answer?.();
      return JSON.parse(whole(reply?.bytes ?? assert.fail('no answer')).toString()).result.tasks;
    },
  };
}

const paramOf = (params: object | undefined) =>
  params && 'taskId' in params ? params.taskId : assert.fail('a task is asked for');
const working = (_: string, params: object | undefined) => ({
  taskId: paramOf(params),
  status: 'working',
});

describe('the tasks of a session at all servers', () => {
  test('are requested one by one, and have the ids that the client knows', async () => {
    const one = scene({ first: { replies: working }, second: { replies: working } });
    assert.deepEqual([one.make(0, 't'), one.make(1, 't')], ['t', 'second+t']);
    one.make(0, 'of-another', sessionOf());
    assert.deepEqual(await one.list(), [
      { taskId: 't', status: 'working' },
      { taskId: 'second+t', status: 'working' },
    ]);
    assert.deepEqual(one.scripted[1]?.asked, [{ method: 'tasks/get', params: { taskId: 't' } }]);
  });

  test('are those of the servers that answer', async () => {
    const one = scene({
      stopped: { isRunning: false },
      gone: {
        replies() {
          throw new HubError('HUB_SERVER_DOWN', 'gone');
        },
      },
      there: { replies: working },
    });
    for (const at of [0, 1, 2]) one.make(at, `t${at}`);
    assert.deepEqual(await one.list(), [{ taskId: 't2', status: 'working' }]);
  });

  test('fail if the hub has a bug', async () => {
    const one = scene({
      broken: {
        replies() {
          throw new TypeError('a bug');
        },
      },
    });
    one.make(0, 't');
    await assert.rejects(one.list(), TypeError);
  });

  test('are the newest hundred', async () => {
    const one = scene({ first: { replies: working } });
    for (let task = 0; task < 102; task++) one.make(0, `t${task}`);
    const listed = await one.list();
    assert.deepEqual([listed.length, listed[0].taskId], [100, 't2']);
  });
});

describe('the tasks of a session at one server', () => {
  const listed = (bytes: Buffer) => {
    const one = scene({ first: {} });
    const session = sessionOf({ endpoint: one.server(0) });
    one.make(0, 'mine', session);
    const call = callWith('tasks/list', {}, { session });
    const { restored } = one.resolve(tasksOfOne, call);
    return { bytes: restored?.(bytes) ?? assert.fail('it is not changed'), given: bytes };
  };
  const result = (value: object) =>
    JSON.parse(listed(encodeResult('1', JSON.stringify(value))).bytes.toString()).result;
  const tasks = [{ taskId: 'mine', x: [1] }, { taskId: 'of-another' }, { taskId: 7 }, 'mine'];

  test('are those that it created, out of all that the server lists', () => {
    assert.deepEqual(result({ tasks }), { tasks: [{ taskId: 'mine', x: [1] }] });
  });

  test('may continue on another page', () => {
    assert.deepEqual(result({ tasks: [], nextCursor: 'c"' }), { tasks: [], nextCursor: 'c"' });
  });

  test('are empty for any other result of the server', () => {
    assert.deepEqual(result({ tasks: 'mine' }), { tasks: [] });
    assert.deepEqual(result([]), { tasks: [] });
  });

  test('fail with the error of the server', () => {
    const { bytes, given } = listed(encodeError('1', -32601, 'no'));
    assert.equal(bytes, given);
  });
});

describe('a request about a task', () => {
  test('has the id of the server in the request, and that of the client in the response', () => {
    const one = scene({ first: {}, second: {} });
    one.make(0, 't');
    one.make(1, 't');
    const call = callWith('tasks/get', { taskId: 'second+t' }, { session: one.session });
    const { server, edits, name, restored } = one.resolve(tasksOfAll, call);
    assert.deepEqual([server, name], [one.server(1), 'second+t']);
    assert.deepEqual(JSON.parse(splice(call.request.bytes, edits).toString()).params, {
      taskId: 't',
    });
    const answer = restored?.(encodeResult('1', '{"taskId":"t","status":"t"}'));
    assert.deepEqual(JSON.parse(String(answer)).result, { taskId: 'second+t', status: 't' });
  });

  test('is unchanged if both ids are equal', () => {
    const one = scene({ first: {} });
    one.make(0, 't');
    const call = callWith('tasks/get', { taskId: 't' }, { session: one.session });
    const { edits, restored } = one.resolve(tasksOfAll, call);
    assert.deepEqual([edits, restored], [[], undefined]);
  });

  test.each([
    ['of another session', { taskId: 't' }, 'HUB_NAME_UNKNOWN'],
    ['without an id', {}, 'HUB_REQUEST_INVALID'],
  ])('%s is refused', (_, params, code) => {
    const one = scene({ first: {} });
    one.make(0, 't', sessionOf());
    assert.throws(
      () => one.resolve(tasksOfAll, callWith('tasks/cancel', params, { session: one.session })),
      { code },
    );
  });
});

describe('a request about a task of a client without a session', () => {
  const callAt = (method: string, endpoint: Endpoint) =>
    callWith(
      method,
      { taskId: 't', _meta: modernMeta() },
      { session: sessionOf({ endpoint, isSessionless: true }) },
    );

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/list', 'tasks/result'])(
    'is not sent to a server with sessions, which would return those of others: %s',
    async method => {
      const one = scene({ first: { era: 'legacy', isRunning: false } });
      const call = callAt(method, one.server(0));
      const resolved = new Map(modernTasksOfOne).get(method)?.(call, one.needs);
      assert.ok(resolved?.answer);
      await assert.rejects(Promise.resolve(resolved.answer()), { rpcCode: -32601 });
      assert.deepEqual(one.relayed, []);
    },
  );

  test.each(['tasks/list', 'tasks/result'])(
    'is not sent to a server of 2026-07-28 by %s, which that revision does not have',
    async method => {
      const one = scene({ first: { era: 'modern' } });
      const resolved = new Map(modernTasksOfOne).get(method)?.(
        callAt(method, one.server(0)),
        one.needs,
      );
      assert.ok(resolved?.answer);
      await assert.rejects(Promise.resolve(resolved.answer()), { rpcCode: -32601 });
      assert.deepEqual(one.relayed, []);
    },
  );

  test('is sent to a server of 2026-07-28 unchanged', async () => {
    const one = scene({ first: { era: 'modern' } });
    const call = callAt('tasks/get', one.server(0));
    await new Map(modernTasksOfOne).get('tasks/get')?.(call, one.needs).answer?.();
    assert.deepEqual(
      one.relayed.map(({ server, edits }) => [server, edits]),
      [[one.server(0), []]],
    );
  });

  test('succeeds however many tasks another principal creates', () => {
    const one = scene({ first: {}, second: {} });
    const make = (taskId: string, owner: string) =>
      one.tasks.route(
        one.server(1),
        readAnswer(encodeResult('1', `{"resultType":"task","taskId":"${taskId}"}`)),
        owner,
      );
    make('t', 'local:local');
    for (let index = 0; index < 12_000; index++) make(`other-${index}`, 'client:other');
    const reach = new Map(modernTasksOfAll).get('tasks/get')?.(
      callAt('tasks/get', 'all'),
      one.needs,
    );
    assert.equal(reach?.server, one.server(1));
  });

  test('is not stored under an id that is too long', () => {
    const one = scene({ first: {} });
    const taskId = 'i'.repeat(1025);
    const made = encodeResult('1', JSON.stringify({ resultType: 'task', taskId }));
    assert.equal(one.tasks.route(one.server(0), readAnswer(made), 'local:local'), undefined);
    assert.equal(one.make(0, taskId), undefined);
    assert.equal(one.tasks.routeOf(taskId), undefined);
    assert.deepEqual(one.tasks.of(one.session), []);
  });

  test('finds the server of the task among all, and is refused if none has it', () => {
    const one = scene({ first: {}, second: {} });
    const call = callAt('tasks/get', 'all');
    const reach = () => new Map(modernTasksOfAll).get('tasks/get')?.(call, one.needs);
    assert.throws(reach, { code: 'HUB_NAME_UNKNOWN', message: /no task is "t"/ });
    const made = encodeResult('1', '{"resultType":"task","taskId":"t"}');
    one.tasks.route(one.server(1), readAnswer(made), 'local:local');
    assert.equal(reach()?.server, one.server(1));
  });
});
