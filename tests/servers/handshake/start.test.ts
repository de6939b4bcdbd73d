import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createTestEras } from '#helpers/hub';
import { createRecordingLog } from '#helpers/recording-log';
import { type Handle, createHandles } from '#servers';
import { createTable } from '#store';
import { resumableAnswer } from '../../../hub/servers/handshake/handshake.ts';
import { startServer } from '../../../hub/servers/handshake/start.ts';
import type { Own } from '../../../hub/servers/server-types.ts';
import {
  type Answering,
  createAnswering,
  legacyReplies,
  modernReplies,
  settle,
  startNeedsOf,
  startOf,
} from '../answering.ts';
import { configFor, supervise } from '../scripted.ts';

const own: Own = {
  instance: 'shared-era',
  base: supervise().server,
  client: undefined,
  era: 'legacy',
  isShared: true,
};

/** Returns the error that a start is rejected with. */
async function errorOf(started: Promise<unknown>): Promise<HubError> {
  const error = await started.then(
    () => assert.fail('it started'),
    (reason: unknown) => reason,
  );
  return error instanceof HubError ? error : assert.fail(String(error));
}

test('a server of the older era that starts has its lists and its variant, and no subscription', async () => {
  const server = createAnswering(legacyReplies);
  const { running, lists, variant, isAdopted, subscription } = await startOf(server, {
    variant: 'next',
  });
  assert.deepEqual([variant, isAdopted, subscription], ['next', false, undefined]);
  assert.equal(running.instance, server);
  assert.deepEqual(
    lists.tool.items.map(({ key }) => key),
    ['work'],
  );
  assert.deepEqual(server.stops, []);
});

test('a server that writes and sends requests before any request to it can start', async () => {
  const server = createAnswering(legacyReplies);
  server.tell({ method: 'notifications/message', params: { level: 'info', data: 'up' } });
  server.tell({ id: 1, method: 'roots/list' });
  const { running } = await startOf(server);
  assert.equal(running.instance, server);
});

describe('a server with a configured era that does not start in time', () => {
  test('has the era of its entry in the error if it never answered', async () => {
    const clock = createManualClock();
    const server = createAnswering({ initialize: 'silence', 'server/discover': 'silence' });
    const refused = errorOf(startOf(server, { clock }));
    await settle();
    clock.advance(300);
    const { code, message } = await refused;
    assert.equal(code, 'HUB_SERVER_START_FAILED');
    assert.match(message, /did not answer initialize within 0\.3 s\..*"era": "legacy"/);
    assert.equal(server.isAlive, false);
  });

  test('has no era in the error if it has answered, and only its lists are late', async () => {
    const clock = createManualClock();
    const server = createAnswering({ ...legacyReplies, 'tools/list': 'silence' });
    const refused = errorOf(startOf(server, { clock }));
    await settle();
    clock.advance(300);
    const { code, message } = await refused;
    assert.equal(code, 'HUB_SERVER_START_FAILED');
    assert.doesNotMatch(message, /"era"/);
    assert.equal(server.isAlive, false);
  });

  test('has the wrong era in the error if it refuses it', async () => {
    const error = await errorOf(startOf(createAnswering(modernReplies)));
    assert.match(error.message, /^scripted does not speak MCP up to 2025-11-25/);
    assert.equal(error.data.retryable, false);
  });
});

test('a server of a known era that does not answer initialize in time has its setting in the error', async () => {
  const launch = { kind: 'remote', transport: 'sse', url: 'http://far/sse', headers: {} } as const;
  const config = configFor({ era: 'auto', launch, startTimeoutMs: 10 });
  const server = createAnswering({ initialize: 'silence' });
  // A manual clock would run both timers, that of the request and that of the start, in one turn.
  const { code, message } = await errorOf(startOf(server, { clock: systemClock, config }));
  assert.equal(code, 'HUB_SERVER_START_FAILED');
  assert.match(message, /did not answer initialize.*0\.01 s\. Raise "start_timeout"/);
  assert.equal(server.isAlive, false);
});

test('a server whose start is cancelled has time to exit, and its error has no era', async () => {
  const clock = createManualClock();
  const cancelling = new AbortController();
  const server = createAnswering({ initialize: 'silence' });
  const refused = errorOf(startOf(server, { clock, signal: cancelling.signal }));
  await settle();
  cancelling.abort();
  const { code, message } = await refused;
  assert.deepEqual([code, message], ['HUB_SERVER_STOPPED', 'it was stopped while it started']);
  assert.equal(server.stops[0], 5_000);
});

describe('the era of a server that was determined', () => {
  const launch = { kind: 'remote', transport: 'http', url: 'http://far/mcp', headers: {} } as const;
  const config = configFor({ era: 'auto', launch });
  const key = createTestEras(silent).keyOf(config, undefined);

  /** Returns a function that starts a remote server with these instances, in order. */
  function open(instances: readonly Answering[], of?: Own) {
    const eras = createTestEras(silent);
    const { log, logged } = createRecordingLog();
    const left = [...instances];
    const needs = startNeedsOf({
      eras,
      log,
      config,
      own: of,
      launch: async () => left.shift() ?? assert.fail('one launch too many'),
    });
    return { eras, left, logged, start: () => startServer(needs) };
  }

  test('is determined again, once, if it was wrong', async () => {
    const [first, second] = [createAnswering(legacyReplies), createAnswering(legacyReplies)];
    const { eras, logged, start } = open([first, second]);
    await eras.confirm(key, 'modern', false);
    const { running } = await start();
    assert.equal(running.serverInfo.era, 'legacy');
    assert.equal(running.instance, second);
    assert.equal(first.isAlive, false);
    assert.equal(await eras.recall(key), 'legacy');
    const told = logged.filter(({ level }) => level === 'info').map(({ message }) => message);
    assert.equal(told.length, 1);
    assert.match(told[0] ?? '', /^the era of the server is determined again: /);
  });

  test('is not determined a third time: the second refusal fails the start', async () => {
    const { eras, left, start } = open([1, 2, 3].map(() => createAnswering({})));
    await eras.confirm(key, 'modern', false);
    const { code, data } = await errorOf(start());
    assert.deepEqual([code, data['method']], ['HUB_SERVER_PROTOCOL', 'initialize']);
    assert.equal(left.length, 1);
    assert.equal(await eras.recall(key), undefined);
  });

  test('is the newer one for clients of the older if the server cannot be initialized', async () => {
    const { eras, left, start } = open(
      [1, 2, 3].map(() => createAnswering(modernReplies)),
      own,
    );
    const { running } = await start();
    assert.equal(running.serverInfo.era, 'modern');
    assert.equal(left.length, 1);
    assert.equal(await eras.recall(key), 'modern');
    const again = await start();
    assert.equal(again.running.serverInfo.era, 'modern');
    assert.deepEqual(left, [], 'it is remembered');
  });

  test('is not remembered from a session that was opened for clients of the older era', async () => {
    const { eras, start } = open([createAnswering(legacyReplies)], own);
    assert.equal((await start()).running.serverInfo.era, 'legacy');
    assert.equal(await eras.recall(key), undefined);
  });
});

describe('the instance of an earlier run', () => {
  /**
   * Starts a server that has the instance `adopted` of an earlier run. `next` returns the instance of a second
   * adoption.
   */
  async function open(
    adopted: Answering,
    {
      next = async () => adopted,
      ...given
    }: { readonly own?: Own; readonly next?: () => Promise<Answering> } = {},
  ) {
    const { running } = await startOf(createAnswering(legacyReplies));
    const handles = createHandles(
      createTable({ file: undefined, maxEntries: 10 }, { log: silent }),
    );
    const kept: Handle = {
      digest: 'digest',
      instance: 'container-1',
      initializeAnswer: resumableAnswer(running.serverInfo),
      generation: 0,
      variant: 'next',
    };
    await handles.keep('scripted', kept);
    const clock = createManualClock();
    const { log, logged } = createRecordingLog();
    const launched: Answering[] = [];
    const cancelling = new AbortController();
    let launches = 0;
    let adoptions = 0;
    const started = startServer(
      startNeedsOf({
        clock,
        log,
        signal: cancelling.signal,
        ...given,
        launching: () => void launches++,
        launches: {
          adoption: {
            handles,
            digestOf: () => 'digest',
            adopt: async () => (++adoptions === 1 ? adopted : await next()),
          },
        },
        async launch() {
          const one = createAnswering(legacyReplies);
          launched.push(one);
          return one;
        },
      }),
    );
    return {
      clock,
      handles,
      logged,
      launched,
      started,
      cancel: () => cancelling.abort(new Error('the hub stops')),
      launches: () => launches,
    };
  }

  test('is adopted without another handshake, with ids above those of its last hub', async () => {
    const left = createAnswering({ ...legacyReplies, ping: { result: {} } });
    const { started, launched, launches } = await open(left);
    const { isAdopted, variant, running } = await started;
    assert.deepEqual([isAdopted, variant, running.serverInfo.era], [true, 'next', 'legacy']);
    assert.deepEqual(left.methods, ['ping', 'tools/list']);
    assert.ok(left.sent.every(({ id }) => Number(id) > 2 ** 32));
    assert.deepEqual([launched.length, launches()], [0, 1]);
  });

  test('is replaced if it does not answer, and its handle is removed', async () => {
    const left = createAnswering({ ...legacyReplies, ping: 'silence' });
    const { clock, started, handles, logged, launched, launches } = await open(left);
    await settle();
    clock.advance(300);
    const { isAdopted, variant } = await started;
    assert.deepEqual([isAdopted, variant, left.isAlive], [false, undefined, false]);
    assert.equal(handles.find('scripted'), undefined);
    assert.deepEqual([launched.length, launches()], [1, 2]);
    assert.ok(logged.some(({ message }) => message.endsWith('does not answer: it is replaced')));
  });

  describe('whose connection is lost meanwhile', () => {
    const exit = { lost: true, detail: 'lost: no engine answers' };
    const mute = () => createAnswering({ ...legacyReplies, ping: 'silence' });

    test('is adopted again at once', async () => {
      const [lost, found] = [mute(), createAnswering({ ...legacyReplies, ping: { result: {} } })];
      const { started, launched } = await open(lost, { next: async () => found });
      await settle();
      lost.end(exit);
      const { isAdopted, running } = await started;
      assert.deepEqual([isAdopted, running.instance, launched.length], [true, found, 0]);
      assert.ok(found.sent.every(({ id }) => Number(id) > 2 * 2 ** 32));
    });

    test('is left for a later start if the engine does not answer', async () => {
      const lost = mute();
      const next = () => Promise.reject(new HubError('HUB_ENGINE_UNREACHABLE', 'no engine'));
      const { started, handles, launched } = await open(lost, { next });
      const refused = errorOf(started);
      await settle();
      lost.end(exit);
      assert.equal((await refused).code, 'HUB_ENGINE_UNREACHABLE');
      assert.equal(handles.find('scripted')?.instance, 'container-1');
      assert.equal(launched.length, 0);
    });

    test('is replaced if it is lost a second time', async () => {
      const [first, second] = [mute(), mute()];
      const { started, launched } = await open(first, { next: async () => second });
      await settle();
      first.end(exit);
      await settle();
      second.end(exit);
      assert.equal((await started).isAdopted, false);
      assert.equal(launched.length, 1);
    });
  });

  test('is not replaced if the start is cancelled meanwhile', async () => {
    const { started, launched, cancel } = await open(createAnswering({ ping: 'silence' }));
    const refused = assert.rejects(started, /the hub stops/);
    await settle();
    cancel();
    await refused;
    assert.equal(launched.length, 0);
  });

  test('is not adopted for an instance per era or session', async () => {
    const left = createAnswering({ ...legacyReplies, ping: { result: {} } });
    const { started, launched } = await open(left, { own });
    assert.equal((await started).isAdopted, false);
    assert.equal(launched.length, 1);
    assert.deepEqual(left.methods, []);
  });
});
