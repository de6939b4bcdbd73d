import { expect, test, vi } from 'vitest';
import { HubError, createEmitter, isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import type { BuiltinTask, ToolResult } from '../../hub/builtin/builtin-server.ts';
import { type TaskMaker, createBuiltinTasks } from '../../hub/builtin/tasks.ts';

const legacy: TaskMaker = { isModern: false, principal: 'client:ada' };
const modern: TaskMaker = { isModern: true, principal: 'client:ada' };

function open() {
  const clock = createManualClock();
  const told: { method: string; params: Record<string, unknown> }[] = [];
  const tasks = createBuiltinTasks({
    clock,
    notify: (method, params) => void told.push({ method, params: JSON.parse(params) }),
    asResult: async result => {
      const { text, isError } = await result;
      return { content: [{ type: 'text', text }], ...(isError && { isError }) };
    },
  });
  /** Begins a task that the test ends. */
  function begin(id: string, wanted: unknown = {}, token?: string, maker: TaskMaker = legacy) {
    const { promise: result, resolve, reject } = Promise.withResolvers<ToolResult>();
    const { event: changed, fire } = createEmitter<undefined>();
    let doing = 'starting';
    const task: BuiltinTask = {
      id,
      doing: () => doing,
      changed,
      result,
      cancel: async () => reject(new HubError('HUB_CALL_CANCELLED', 'cancelled')),
    };
    tasks.check(wanted);
    return {
      made: tasks.add(task, wanted, token, maker),
      end: (text: string, isError = false) => resolve({ text, structured: {}, isError }),
      fail: reject,
      does: (what: string) => {
        doing = what;
        fire(undefined);
      },
    };
  }
  const statusOf = (taskId: string) => {
    const found = tasks.get({ taskId });
    return isObject(found) ? found['status'] : undefined;
  };
  return { tasks, told, clock, begin, statusOf };
}

test('a task is created, reports its status, and returns its result', async () => {
  const { tasks, told, begin, statusOf } = open();
  const { made, does, end } = begin('t1', { ttl: 5_000 }, '"token"');
  expect(made).toMatchObject({
    task: { taskId: 't1', status: 'working', statusMessage: 'starting', ttl: 5_000 },
  });
  does('thinking');
  does('thinking');
  expect(told).toEqual([
    {
      method: 'notifications/tasks/status',
      params: expect.objectContaining({ taskId: 't1', statusMessage: 'thinking' }),
    },
    {
      method: 'notifications/progress',
      params: {
        progressToken: 'token',
        progress: 1,
        message: 'thinking',
        _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } },
      },
    },
  ]);
  const result = tasks.result({ taskId: 't1' });
  end('done');
  expect(await result).toEqual({
    content: [{ type: 'text', text: 'done' }],
    _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } },
  });
  expect(statusOf('t1')).toBe('completed');
  expect(tasks.list()).toMatchObject({ tasks: [{ taskId: 't1' }] });
});

test('a tool that fails makes a failed task, with the reason as its result', async () => {
  const { tasks, begin, statusOf } = open();
  begin('t1').end('no model', true);
  expect(await tasks.result({ taskId: 't1' })).toMatchObject({ isError: true });
  expect(statusOf('t1')).toBe('failed');
  begin('t2').fail(new TypeError('a bug'));
  expect(await tasks.result({ taskId: 't2' })).toMatchObject({ isError: true });
  expect(statusOf('t2')).toBe('failed');
});

test('a task is cancelled once', async () => {
  const { tasks, begin } = open();
  begin('t1');
  expect(await tasks.cancel({ taskId: 't1' })).toMatchObject({ status: 'cancelled' });
  await expect(tasks.cancel({ taskId: 't1' })).rejects.toThrow(/is cancelled already/);
});

test('an ended task is kept for its ttl from its creation; one that works is kept longer', async () => {
  const { tasks, clock, begin, statusOf } = open();
  const { end } = begin('t1', { ttl: 5_000 });
  clock.advance(6_000);
  expect(statusOf('t1')).toBe('working');
  end('done');
  await tasks.result({ taskId: 't1' });
  clock.advance(1);
  expect(() => tasks.get({ taskId: 't1' })).toThrow(/no task is "t1"/);
  expect(() => tasks.get({})).toThrow(/no task is undefined/);
});

test.each([[5], [{ ttl: -1 }], [{ ttl: 'long' }]])('refuses the task options %j', wanted => {
  const { begin } = open();
  expect(() => begin('t1', wanted)).toThrow(/"params.task"/);
});

test('a thousand tasks may be working at once; ended ones are dropped for new ones', async () => {
  const { tasks, begin } = open();
  const first = begin('t0');
  for (let index = 1; index < 1_000; index++) begin(`t${index}`);
  expect(() => begin('more')).toThrow(/1000 tasks work/);
  first.end('done');
  await tasks.result({ taskId: 't0' });
  begin('more');
  expect(() => tasks.get({ taskId: 't0' })).toThrow(/no task/);
});

test('a stateless client reads state and result by tasks/get, and cancels by tasks/cancel', async () => {
  const { tasks, told, begin } = open();
  const { made, does, end } = begin('t1', {}, undefined, modern);
  expect(made).toMatchObject({
    resultType: 'task',
    taskId: 't1',
    status: 'working',
    ttlMs: 3_600_000,
    pollIntervalMs: 1_000,
  });
  does('thinking');
  expect(told).toMatchObject([
    { method: 'notifications/tasks', params: { taskId: 't1', statusMessage: 'thinking' } },
  ]);
  const ada = 'client:ada';
  expect(tasks.getModern({ taskId: 't1' }, ada)).toMatchObject({ status: 'working' });
  expect(tasks.updateModern({ taskId: 't1', inputResponses: {} }, ada)).toEqual({});
  end('no model', true);
  await vi.waitFor(() =>
    // A tool's result with `isError` completes the task, instead of failing it.
    expect(tasks.getModern({ taskId: 't1' }, ada)).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text', text: 'no model' }], isError: true },
    }),
  );
  expect(await tasks.cancelModern({ taskId: 't1' }, ada)).toEqual({});
  begin('t2', {}, undefined, modern);
  expect(await tasks.cancelModern({ taskId: 't2' }, ada)).toEqual({});
  await vi.waitFor(() =>
    expect(tasks.getModern({ taskId: 't2' }, ada)).toMatchObject({ status: 'cancelled' }),
  );
  begin('t3', {}, undefined, modern).fail(new TypeError('a bug'));
  await vi.waitFor(() =>
    expect(tasks.getModern({ taskId: 't3' }, ada)).toMatchObject({
      status: 'failed',
      error: { code: -32603, message: 'a bug' },
    }),
  );
});

test('a task is unknown to another principal, and in the other protocol revision', () => {
  const { tasks, begin } = open();
  begin('t1', {}, undefined, modern);
  begin('t2');
  const unknown = /no task is/;
  expect(() => tasks.getModern({ taskId: 't1' }, 'client:eve')).toThrow(unknown);
  expect(() => tasks.updateModern({ taskId: 't1' }, undefined)).toThrow(unknown);
  expect(() => tasks.get({ taskId: 't1' })).toThrow(unknown);
  expect(() => tasks.getModern({ taskId: 't2' }, 'client:ada')).toThrow(unknown);
  expect(tasks.list()).toMatchObject({ tasks: [{ taskId: 't2' }] });
});
