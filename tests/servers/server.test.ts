import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'vitest';
import { HubError, isObject, silent, systemClock } from '#core';
import { asBytes } from '#helpers/calls';
import {
  type Fixture,
  configOf,
  createFixtureServers,
  createRecordingLog,
  createTestEras,
  until,
} from '#helpers/hub';
import { readMessage } from '#jsonrpc';
import { createProcessRuntime } from '#runtimes/process';
import { type Server, createServer, describeServer } from '#servers';
import { configFor, supervise as superviseScripted } from './scripted.ts';

/** Creates one supervised fixture server. */
function supervise(fixture: Fixture) {
  const servers = createFixtureServers([fixture], { log: silent });
  return Object.assign(servers.get(fixture.name), {
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  });
}

/** Calls a tool as the client `owner`, and returns the answer as an object. */
async function call(server: Server, name: string, given: object = {}): Promise<unknown> {
  const { upstream } = await server.ready();
  const request = readMessage(
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 'mine',
        method: 'tools/call',
        params: { name, arguments: given },
      }),
    ),
  );
  if (request.kind !== 'request') return assert.fail('not a request');
  const caller = {
    owner: { hasOpenRequest: false, serverRequest() {}, notification() {} },
    responseStream: { send() {} },
    progressToken: undefined,
  };
  const answer = await upstream.relay(asBytes(request), caller, 10_000).answer;
  return JSON.parse(answer.toString());
}

const textOf = (answer: unknown): unknown => {
  if (!isObject(answer) || !isObject(answer['result'])) return answer;
  const { content } = answer['result'];
  return Array.isArray(content) && isObject(content[0]) ? content[0]['text'] : answer;
};

/** Returns the HubError that the promise is rejected with. */
async function errorOf(promise: Promise<unknown>): Promise<HubError> {
  const error = await promise.then(
    value => assert.fail(`it was answered: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  return error instanceof HubError ? error : assert.fail(String(error));
}

/** Reads the state in a function, because the compiler assumes that a compared property does not change. */
const stateOf = (server: Server): string => server.status.state;

const pidOf = (server: Server): number => {
  const pid = server.running?.instance.about['pid'];
  return typeof pid === 'number' ? pid : assert.fail('it has no process');
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Returns the processes with the mark in their environment. Linux only. */
function processesMarked(mark: string): readonly string[] {
  return readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`MARK=${mark}`);
    } catch {
      return false;
    }
  });
}

describe('a server that behaves', () => {
  test('runs once it has answered initialize and its list requests', async () => {
    await using server = supervise({ name: 'echo' });
    assert.deepEqual(server.status, { state: 'stopped', byHand: false });
    server.start();
    assert.equal(stateOf(server), 'starting');
    await server.ready();
    assert.equal(stateOf(server), 'running');
    assert.ok(server.listing.tool.some(({ key }) => key === 'echo'));
    assert.deepEqual(
      server.listing.template.map(({ key }) => key),
      ['echo://note/{name}'],
    );
    assert.equal(server.lastError, undefined);
    assert.equal(server.restarts, 0);
  });

  test('is started by the first call', async () => {
    await using server = supervise({ name: 'echo' });
    assert.equal(textOf(await call(server, 'echo', { text: 'first' })), 'first');
    assert.equal(stateOf(server), 'running');
  });

  test('has exited when stop resolves, and can be started again', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    const pid = pidOf(server);
    await server.stop(false);
    assert.equal(isAlive(pid), false);
    assert.deepEqual(server.status, { state: 'stopped', byHand: false });
    await server.ready();
    assert.notEqual(pidOf(server), pid);
    assert.equal(server.restarts, 0, 'a start by hand is no restart');
  });

  test('goes through its states in order', async () => {
    await using server = supervise({ name: 'echo' });
    const states: string[] = [];
    using _ = server.changed(({ state }) => {
      if (states.at(-1) !== state) states.push(state);
    });
    await server.ready();
    await server.stop(true);
    assert.deepEqual(states, ['starting', 'running', 'stopping', 'stopped']);
  });
});

describe('a server that does not start', () => {
  test('because it exits at once has its stderr in the error, in last_error and in the state', async () => {
    await using server = supervise({ name: 'exit-at-once', maxRestarts: 1 });
    const error = await errorOf(server.ready());
    assert.match(error.message, /exit-at-once/);
    assert.match(String(error.data.stderr), /MISSING|cannot|not/i);
    assert.equal(error.data.retryable, true);
    await until(() => server.status.state === 'failed');
    const failed = await errorOf(server.ready());
    assert.equal(failed.code, 'HUB_SERVER_FAILED');
    assert.match(failed.message, /gave up after 1 restart: .*exited with code 3/);
    assert.ok(failed.data.stderr);
    assert.match(server.lastError?.message ?? '', /exited with code 3/);
    const described = JSON.parse(JSON.stringify(describeServer(server)));
    assert.equal(described.state, 'failed');
    assert.equal(described.restart_count, 1);
    assert.equal(described.last_error.stderr, failed.data.stderr);
  });

  test('because it never answers initialize times out, and error and state say so', async () => {
    await using server = supervise({
      name: 'never-ready',
      startTimeoutMs: 300,
      restart: 'temporary',
    });
    const error = await errorOf(server.ready());
    assert.equal(error.code, 'HUB_SERVER_FAILED');
    assert.match(error.message, /never-ready/);
    assert.match(error.message, /did not answer.*in time, within 0\.3 s\. Raise "start_timeout"/);
    assert.equal(stateOf(server), 'failed');
    assert.match(server.lastError?.message ?? '', /^never-ready did not start: .*in time/);
  });

  test.each(['auto', 'legacy'] as const)(
    'and reports its error on stdout has it quoted in error and log (era %s)',
    async era => {
      await using server = supervise({
        name: 'chatty',
        file: 'tells-stdout.mjs',
        era,
        maxRestarts: 0,
      });
      const wrote: string[] = [];
      server.wrote(line => void wrote.push(line));
      const error = await errorOf(server.ready());
      assert.match(error.message, /chatty.*exited with code 1.*stdout: API_KEY is missing/);
      assert.deepEqual([...new Set(wrote)], ['stdout: API_KEY is missing']);
    },
  );

  test('has a missing program in its stderr, and the error says so', async () => {
    await using server = supervise({ name: 'gone', file: 'no-such-file.mjs', maxRestarts: 0 });
    const error = await errorOf(server.ready());
    assert.equal(error.code, 'HUB_SERVER_FAILED');
    assert.match(String(error.data.stderr), /no-such-file/);
  });

  test('fails after max_restarts restarts, each after a longer wait', async () => {
    await using server = supervise({ name: 'exit-at-once', maxRestarts: 2 });
    const waits: number[] = [];
    using _ = server.changed(status => {
      if (status.state === 'backing_off') waits.push(status.until - Date.now());
    });
    server.start();
    await until(() => server.status.state === 'failed');
    assert.equal(server.restarts, 2);
    assert.equal(waits.length, 2);
    assert.ok((waits[1] ?? 0) > (waits[0] ?? 0), `waited ${waits.join(' and ')} ms`);
  });

  test('stays failed without restart_on_failure, until a start by hand', async () => {
    await using server = supervise({ name: 'exit-at-once', restart: 'temporary' });
    server.start();
    await until(() => server.status.state === 'failed');
    assert.equal(server.restarts, 0);
    server.start();
    assert.equal(stateOf(server), 'starting');
    await until(() => server.status.state === 'failed');
  });

  test('refuses calls if it is disabled', async () => {
    await using server = supervise({ name: 'echo', enabled: false });
    const error = await errorOf(server.ready());
    assert.equal(error.code, 'HUB_SERVER_DISABLED');
    assert.equal(stateOf(server), 'stopped');
  });
});

describe('a server that dies', () => {
  test('fails every call in flight with a retryable error with its name and the cause', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    const slow = Array.from({ length: 5 }, () => errorOf(call(server, 'slow', { ms: 60_000 })));
    const crash = errorOf(call(server, 'crash', { code: 7 }));
    for (const error of await Promise.all([...slow, crash])) {
      assert.equal(error.code, 'HUB_SERVER_DOWN');
      assert.match(error.message, /^echo is gone: .*exited with code 7/);
      assert.equal(error.data.server, 'echo');
      assert.equal(error.data.retryable, true);
    }
    await until(() => server.status.state === 'running' && server.restarts === 1);
    assert.match(server.lastError?.message ?? '', /exited with code 7/);
    assert.equal(textOf(await call(server, 'echo', { text: 'again' })), 'again');
  });

  test('in the middle of a line: the call fails and the half line is not a response', async () => {
    await using server = supervise({ name: 'half-line' });
    const error = await errorOf(call(server, 'half'));
    assert.equal(error.code, 'HUB_SERVER_DOWN');
    assert.match(error.message, /half-line is gone/);
  });

  test('lets calls wait that arrive before its restart, if that is soon', async () => {
    await using server = supervise({ name: 'echo' });
    await errorOf(call(server, 'crash', { code: 1 }));
    await until(() => server.status.state === 'backing_off');
    assert.equal(textOf(await call(server, 'echo', { text: 'after' })), 'after');
    assert.equal(server.restarts, 1);
  });

  test('refuses calls whose time limit ends before its restart, with the time of the restart', async () => {
    await using server = supervise({ name: 'echo', callTimeoutMs: 100 });
    const called = Promise.withResolvers<Awaited<ReturnType<typeof errorOf>>>();
    // Asks when the wait begins: a moment later, the rest of it may be shorter than the timeout of a call.
    using _ = server.changed(({ state }) => {
      if (state === 'backing_off') called.resolve(errorOf(server.ready()));
    });
    await errorOf(call(server, 'crash', { code: 1 }));
    const error = await called.promise;
    assert.equal(server.status.state, 'backing_off');
    assert.equal(error.code, 'HUB_SERVER_DOWN');
    assert.equal(error.data.retryable, true);
    assert.ok(Number(error.data.retryAfterMs) <= 30_000);
    await until(() => server.status.state === 'running');
  });

  test('lets no calls wait once its restart has failed too', async () => {
    await using server = supervise({ name: 'exit-at-once', maxRestarts: 5 });
    server.start();
    await until(() => server.status.state === 'backing_off');
    const error = await errorOf(server.ready());
    assert.equal(error.code, 'HUB_SERVER_DOWN');
    assert.match(error.message, /is restarting: it did not start/);
    assert.equal(error.data.retryable, true);
    assert.equal(server.restarts, 1);
  });

  test('lets no calls wait when it is stopped meanwhile', async () => {
    await using server = supervise({ name: 'exit-at-once' });
    server.start();
    await until(() => server.status.state === 'backing_off');
    const waiting = errorOf(server.ready());
    await server.stop(true);
    assert.equal((await waiting).code, 'HUB_SERVER_STOPPED');
  });

  test('keeps its lists, so that clients see the same tools meanwhile', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    const before = server.listing;
    let changes = 0;
    using _ = server.listed(() => changes++);
    await errorOf(call(server, 'crash', { code: 1 }));
    assert.equal(server.listing, before);
    await until(() => server.status.state === 'running');
    assert.equal(changes, 0, 'the same lists after the restart are no change');
  });
});

describe('a server that is stopped by hand', () => {
  test('refuses calls, and does not restart by itself', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    await server.stop(true);
    const error = await errorOf(server.ready());
    assert.equal(error.code, 'HUB_SERVER_STOPPED');
    assert.match(error.message, /agenthub start echo/);
    server.start();
    await server.ready();
    assert.equal(stateOf(server), 'running');
  });

  test('fails calls in flight, and aborts a start in progress', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    const slow = errorOf(call(server, 'slow', { ms: 60_000 }));
    await server.stop(true);
    assert.equal((await slow).code, 'HUB_SERVER_DOWN');

    await using never = supervise({ name: 'never-ready' });
    const waiting = errorOf(never.ready());
    await until(() => never.status.state === 'starting');
    await never.stop(true);
    assert.equal((await waiting).code, 'HUB_SERVER_STOPPED');
    assert.deepEqual(never.status, { state: 'stopped', byHand: true });
  });

  test('ends the wait for a restart at once', async () => {
    await using server = supervise({ name: 'exit-at-once' });
    server.start();
    await until(() => server.status.state === 'backing_off');
    await server.stop(true);
    assert.deepEqual(server.status, { state: 'stopped', byHand: true });
  });

  test('and started while it is still stopping makes callers wait for the new instance', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    const first = pidOf(server);
    const stopped = server.stop(true);
    assert.equal(stateOf(server), 'stopping');
    server.start();
    assert.equal(stateOf(server), 'starting');
    await server.ready();
    await stopped;
    assert.notEqual(pidOf(server), first);
    assert.equal(isAlive(first), false, 'the old instance is gone before the new one starts');
    assert.equal(stateOf(server), 'running');
  });
});

describe('a server that is closed', () => {
  test('fails calls in flight, and cannot be started', async () => {
    await using server = supervise({ name: 'echo' });
    await server.ready();
    const pid = pidOf(server);
    const slow = errorOf(call(server, 'slow', { ms: 60_000 }));
    const closed = server.close('stopping');
    const meanwhile = errorOf(server.ready());
    server.start();
    await closed;
    assert.equal((await slow).code, 'HUB_SERVER_DOWN');
    assert.equal((await meanwhile).code, 'HUB_SHUTTING_DOWN');
    server.start();
    assert.equal((await errorOf(server.ready())).code, 'HUB_SHUTTING_DOWN');
    assert.equal(stateOf(server), 'stopped');
    assert.equal(isAlive(pid), false);
  });
});

describe.skipIf(process.platform !== 'linux')('many concurrent requests', () => {
  test('for start, stop and restart end with one instance', async () => {
    const mark = `storm-${process.pid}`;
    await using server = supervise({ name: 'echo', env: { MARK: mark } });
    const storm = Array.from({ length: 30 }, async (_, at) => {
      if (at % 3 === 0) server.start();
      else if (at % 3 === 1) await server.stop(at % 2 === 0);
      else {
        await server.stop(false);
        server.start();
        await server.ready().catch(() => undefined);
      }
    });
    await Promise.all(storm);
    server.start();
    await server.ready();
    assert.equal(processesMarked(mark).length, 1);
    assert.equal(stateOf(server), 'running');
    await server.stop(true);
    assert.equal(processesMarked(mark).length, 0);
    assert.equal(stateOf(server), 'stopped');
  });

  test('for calls start one instance', async () => {
    const mark = `calls-${process.pid}`;
    await using server = supervise({ name: 'echo', env: { MARK: mark } });
    await Promise.all(Array.from({ length: 20 }, () => call(server, 'pid')));
    assert.equal(processesMarked(mark).length, 1);
  });
});

describe('a list that changes while the first lists are read', () => {
  test('is read again', async () => {
    // Program that announces changed tools after it has listed them, and before it answers `prompts/list`.
    const program = `
      let tools = ['old'];
      const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
      require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
        const { id, method } = JSON.parse(line);
        if (method === 'initialize')
          send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {} }, serverInfo: {} } });
        else if (method === 'tools/list') send({ id, result: { tools: tools.map(name => ({ name })) } });
        else if (method === 'prompts/list') {
          tools = ['new'];
          send({ method: 'notifications/tools/list_changed' });
          setTimeout(() => send({ id, result: { prompts: [] } }), 20);
        }
      }).on('close', () => process.exit());`;
    const runtime = createProcessRuntime(
      { environment: process.env, platform: process.platform },
      { clock: systemClock },
    );
    const server = createServer(configOf({ name: 'changing' }), {
      clock: systemClock,
      log: silent,
      random: () => 1,
      hubVersion: '0',
      eras: createTestEras(silent),
      instances: { count: () => 0, isHeard: () => false },
      launch: (config, events, signal) =>
        runtime.launch(
          {
            server: config.name,
            target: { kind: 'process', command: process.execPath, args: ['-e', program] },
            env: {},
            maxLineBytes: 1_000_000,
            maxWaitingBytes: 1_000_000,
          },
          events,
          signal,
        ),
    });
    try {
      await server.ready();
      await until(() => server.listing.tool[0]?.key === 'new');
    } finally {
      await server.stop(false);
    }
  });
});

test('the allowed targets are those of the latest entry, even if that changed during the start', async () => {
  const gate = Promise.withResolvers<void>();
  let reached: string | undefined;
  await using scene = superviseScripted(
    {},
    {
      gate: () => gate.promise,
      egress: {
        report: () => undefined,
        // Applies the egress rules to running instances only.
        async apply({ description }) {
          if (scene.launched.length > 0) reached = description;
        },
      },
    },
  );
  const { server } = scene;
  server.start();
  await server.reconfigure(configFor({ description: 'second' }), false);
  gate.resolve();
  await server.ready();
  assert.equal(scene.newest.config.description, 'first');
  assert.equal(reached, 'second');
});

describe('what is logged', () => {
  test('output on stdout that is not a message, while the server works', async () => {
    const { log, logged } = createRecordingLog();
    await using servers = createFixtureServers([{ name: 'stdout-noise' }], { log });
    await servers.get('stdout-noise').ready();
    assert.ok(
      logged.some(({ level, message }) => level === 'warn' && /else than JSON-RPC/.test(message)),
    );
  });
});
