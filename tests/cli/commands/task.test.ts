import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { run } from '../run.ts';

/** Starts a hub with one task, whose event stream never ends. */
async function openHub() {
  const task = { id: 'sum', status: 'implementing', doing: 'implement' };
  const server = createServer((request, response) => {
    if (request.url !== '/tasks/sum/events') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(task));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    response.write(`data: ${JSON.stringify({ task, text: 'asks the model' })}\n\n`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  return {
    findHub: async () => ({ url, token: undefined }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test.for(['run', 'status'])(
  '%s --watch exits without a message when its output is closed',
  async action => {
    await using hub = await openHub();
    const ended = await run(['task', action, 'sum', '--watch'], hub, {
      onOut: (_text, stdout) => void stdout.emit('error', new Error('EPIPE')),
    });
    assert.deepEqual(ended, { code: 0, out: 'implementing: asks the model', err: '' });
  },
);

test('run --watch on Ctrl-C exits without a message about the hub', async () => {
  await using hub = await openHub();
  const ending = new AbortController();
  const ended = await run(['task', 'run', 'sum', '--watch'], hub, {
    signal: ending.signal,
    onOut: () => ending.abort(),
  });
  assert.deepEqual(ended, { code: 1, out: 'implementing: asks the model', err: '' });
});

/** Serves a task whose run ends in this state, and its job. */
async function openEnded(task: object) {
  const followed: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (path.endsWith('/events')) {
      followed.push(path);
      const isJob = path.startsWith('/jobs/');
      const event = isJob ? { id: 'j1', state: 'done' } : { task, text: 'committed' };
      response.setHeader('content-type', 'text/event-stream');
      response.end(`event: ${isJob ? 'job' : 'task'}\ndata: ${JSON.stringify(event)}\n\n`);
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(path.endsWith('/run') ? { job: 'j1' } : task));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  return {
    followed,
    findHub: async () => ({ url, token: undefined }),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test('run exits when its job has ended, after the files in _handoff are written', async () => {
  const task = { id: 'sum', status: 'human_consultation', doing: 'idle', why: 'it is critical' };
  await using hub = await openEnded(task);
  const ended = await run(['task', 'run', 'sum'], hub);
  assert.deepEqual([hub.followed, ended.code], [['/tasks/sum/events', '/jobs/j1/events'], 1]);
});

test('run of a task that is cancelled meanwhile exits with 1, and says so', async () => {
  await using hub = await openEnded({
    id: 'sum',
    status: 'cancelled',
    doing: 'idle',
    totals: { prompt_tokens: 2, completion_tokens: 1 },
  });
  const out = 'sum: cancelled, 3 tokens';
  const ended = await run(['task', 'run', 'sum'], hub);
  assert.deepEqual(ended, { code: 1, out, err: 'The task was cancelled.' });
  assert.equal((await run(['task', 'run', 'sum', '--json'], hub)).code, 1);
  assert.deepEqual(await run(['task', 'status', 'sum'], hub), { code: 0, out, err: '' });
});

test('--watch shows the progress of the model in the status line of a terminal', async () => {
  const heard: string[] = [];
  const shown = Promise.withResolvers<void>();
  const working = { id: 'sum', status: 'implementing', doing: 'asking', job: 'j1' };
  const idle = { id: 'sum', status: 'pending_judge_review', doing: 'idle' };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const send = (event: object) => response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (path.endsWith('/events')) response.setHeader('content-type', 'text/event-stream');
    if (path === '/jobs/j1/events') {
      heard.push(path);
      const text = 'coder:7b has written 500 characters';
      send({ id: 'j1', state: 'running', progress: { step: 'implement', text } });
      return;
    }
    if (path !== '/tasks/sum/events') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(idle));
      return;
    }
    send({ task: working, text: 'asks the model' });
    const end = () => send({ task: idle, text: 'waits for a judge' });
    if (isTerminal) void shown.promise.then(end);
    else end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const needs = { findHub: async () => ({ url, token: undefined }) };
  const args = ['task', 'status', 'sum', '--watch'];

  let isTerminal = false;
  const piped = await run(args, needs);
  assert.deepEqual([piped.err, heard], ['', []]);
  assert.match(
    piped.out,
    /^implementing: asks the model\npending_judge_review: waits for a judge\n/,
  );

  isTerminal = true;
  const { out, err } = await run(args, needs, {
    columns: 120,
    onErr(text) {
      if (text.includes('500 characters')) shown.resolve();
    },
  });
  assert.match(err, /implement: coder:7b has written 500 characters/);
  assert.match(out, /^implementing: asks the model\npending_judge_review: waits for a judge\n/);
  assert.deepEqual(heard, ['/jobs/j1/events']);
  server.closeAllConnections();
  server.close();
});

test('the next commands name the task, unless it is that of the working folder', async () => {
  const task = { id: 'sum', status: 'proposal', commands: ['setup', 'cancel'] };
  const server = createServer((request, response) => {
    const isList = request.url?.startsWith('/tasks?') === true;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isList ? { tasks: [task] } : task));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const nextOf = async (...args: readonly string[]) => {
    const { out } = await run(['task', ...args], {
      findHub: async () => ({ url, token: undefined }),
    });
    return out.split('\n').at(-1);
  };
  const named = 'Next: agenthub task setup sum, agenthub task cancel sum';
  assert.equal(await nextOf('status', '--repo', '/elsewhere'), named);
  assert.equal(await nextOf('status', 'sum'), named);
  assert.equal(await nextOf('setup'), 'Next: agenthub task setup, agenthub task cancel');
  server.close();
});

test('the list shows which tasks are halted', async () => {
  const halted = { code: 'HUB_OLLAMA_UNAVAILABLE', message: 'Ollama is away' };
  const tasks = ['sum', 'mean'].map(id => ({ id, status: 'implementing', attempt: 1 }));
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ tasks: [{ ...tasks[0], halted }, tasks[1]] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const needs = { findHub: async () => ({ url, token: undefined }) };
  const { code, out } = await run(['task', 'status'], needs);
  server.close();
  assert.equal(code, 0);
  assert.match(out, /^sum +implementing, halted +1/m);
  assert.match(out, /^mean +implementing +1/m);
});

test('a repository that --repo names by a link is the real folder', async () => {
  const home = mkdtempSync(join(tmpdir(), 'task-'));
  const real = join(realpathSync(home), 'real');
  mkdirSync(real);
  symlinkSync('real', join(home, 'link'));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(decodeURIComponent(request.url ?? ''));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ tasks: [{ id: 'sum' }], id: 'sum', status: 'done' }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const needs = { findHub: async () => ({ url, token: undefined }) };
  const { code } = await run(['task', 'status', '--repo', join(home, 'link')], needs);
  assert.deepEqual([code, asked], [0, [`/tasks?repository=${real}`, '/tasks/sum']]);
  server.close();
  rmSync(home, { recursive: true });
});
