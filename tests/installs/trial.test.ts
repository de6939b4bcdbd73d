import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServerConfig } from '#config';
import { HubError, isObject, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createTestEras } from '#helpers/hub';
import type { Instance, LaunchEvents } from '#runtimes';
import { tryServer } from '../../hub/installs/trial.ts';
import {
  type Answering,
  type Replies,
  createAnswering,
  legacyReplies,
  modernReplies,
  settle,
} from '../servers/answering.ts';
import { configFor } from '../servers/scripted.ts';

type Launch = (events: LaunchEvents, instance: string | undefined) => Promise<Instance>;

/** Begins a trial of a legacy server (before MCP 2026-07-28), with this launch or this instance. */
function begin(launched: Launch | Answering, config: Partial<ServerConfig> = {}) {
  const clock = createManualClock();
  const cancelling = new AbortController();
  const stderr: string[] = [];
  const progress: string[] = [];
  const launch = typeof launched === 'function' ? launched : async () => launched;
  const trial = tryServer(
    configFor(config),
    {
      clock,
      log: silent,
      random: () => 1,
      hubVersion: '0',
      eras: createTestEras(silent),
      launch: (_config, events, _signal, instance) => launch(events, instance),
    },
    { stderr: line => void stderr.push(line), progress: text => void progress.push(text) },
    cancelling.signal,
  );
  trial.catch(() => undefined); // Each test awaits the trial after moving the clock.
  return { clock, trial, stderr, progress, cancel: () => cancelling.abort(new Error('enough')) };
}

async function errorOf(trial: Promise<unknown>): Promise<HubError> {
  const error = await trial.then(
    () => assert.fail('it started'),
    (reason: unknown) => reason,
  );
  return error instanceof HubError ? error : assert.fail(String(error));
}

const toolsOf = (count: number): Replies => ({
  ...legacyReplies,
  'tools/list': {
    result: {
      tools: Array.from({ length: count }, (_, at) => ({
        name: `tool-${at}`,
        inputSchema: { type: 'object' },
      })),
    },
  },
});

describe('a server in a trial', () => {
  test('is described with its lists, and has ended when the trial ends', async () => {
    const server = createAnswering(toolsOf(2));
    const { about, listing } = await begin(server).trial;
    assert.deepEqual(about, {
      server_info: { name: 'old', version: '1' },
      protocol_version: '2025-11-25',
      era: 'legacy',
      tools: { count: 2, names: ['tool-0', 'tool-1'] },
      resources: { count: 0, names: [] },
      resource_templates: { count: 0, names: [] },
      prompts: { count: 0, names: [] },
    });
    assert.equal(listing.tool.length, 2);
    assert.deepEqual(server.stops, [5_000]);
  });

  test('with thousands of tools has a hundred of them listed, and all counted and read', async () => {
    const { about, listing } = await begin(createAnswering(toolsOf(101))).trial;
    const { tools } = about;
    assert.ok(isObject(tools) && Array.isArray(tools['names']));
    assert.deepEqual([tools['count'], tools['names'].length], [101, 100]);
    assert.equal(listing.tool.length, 101);
  });

  test('is launched under a name of its own, and its output reaches the caller', async () => {
    const names: (string | undefined)[] = [];
    const { trial, stderr, progress } = begin(async (events, instance) => {
      names.push(instance);
      events.progress('pulling');
      events.stderr('hello');
      return createAnswering(legacyReplies);
    });
    await trial;
    assert.deepEqual([names, progress, stderr], [['trial'], ['pulling'], ['hello']]);
  });

  test('that sends a request to a client gets the error that there is none', async () => {
    const server: Answering = createAnswering({
      ...legacyReplies,
      'tools/list': () => {
        server.tell({ id: 7, method: 'roots/list' });
        return legacyReplies['tools/list'];
      },
    });
    await begin(server).trial;
    const answer = server.sent.find(({ id }) => id === 7);
    assert.ok(answer && isObject(answer['error']));
    assert.deepEqual(answer['error']['data'], { code: 'HUB_CLIENT_GONE' });
  });
});

describe('a trial of a server whose era is unknown', () => {
  test('ends all instances that it launched', async () => {
    const launched: Answering[] = [];
    const names: (string | undefined)[] = [];
    const { trial } = begin(
      async (_events, instance) => {
        names.push(instance);
        const one = createAnswering(modernReplies, { identity: 'sha256:1' });
        launched.push(one);
        return one;
      },
      { era: 'auto' },
    );
    const { about } = await trial;
    assert.equal(about['era'], 'modern');
    assert.deepEqual(names, ['trial', 'probe']);
    assert.ok(launched.every(({ isAlive }) => !isAlive));
  });
});

describe('a server that does not start', () => {
  test('is an error with its stderr, and the server ends', async () => {
    const server = createAnswering({ initialize: 'end' });
    const { trial, stderr } = begin(async events => {
      events.stderr('KEY is missing');
      return server;
    });
    const { code, message, data } = await errorOf(trial);
    assert.equal(code, 'HUB_SERVER_START_FAILED');
    assert.match(message, /^scripted did not start: .*exited with code 3/);
    assert.equal(data.stderr, 'KEY is missing');
    assert.ok(!('stdout' in data));
    assert.deepEqual(stderr, ['KEY is missing']);
  });

  test('is an error with the other output on stdout, trimmed and cut', async () => {
    const server: Answering = createAnswering({
      initialize: () => {
        server.write('  Usage: scripted <file>\n');
        for (let line = 1; line < 12; line++) server.write(`${line}${'x'.repeat(300)}`);
        return 'end';
      },
    });
    const { code, message, data, cause } = await errorOf(begin(server).trial);
    assert.equal(code, 'HUB_SERVER_START_FAILED');
    assert.match(
      message,
      /\. Its stdout must contain only MCP messages, but it wrote: Usage: scripted <file>$/,
    );
    const lines = String(data['stdout']).split('\n');
    assert.equal(lines.length, 10);
    assert.equal(lines[0], 'Usage: scripted <file>');
    assert.deepEqual([lines[9]?.[0], lines[9]?.length], ['9', 200]);
    assert.ok(cause instanceof HubError);
  });

  test('is the error of its launch if nothing was launched', async () => {
    const refused = new HubError('HUB_LAUNCH_INVALID', 'scripted: the folder /x is missing');
    assert.equal(await errorOf(begin(() => Promise.reject(refused)).trial), refused);
  });

  test('times out, and its other output shows that it is no MCP server', async () => {
    const server = createAnswering({ initialize: 'silence', 'server/discover': 'silence' });
    const { clock, trial } = begin(server);
    await settle();
    server.write('listening on port 3000');
    clock.advance(300);
    const { data } = await errorOf(trial);
    assert.equal(data['stdout'], 'listening on port 3000');
    assert.equal(server.isAlive, false);
  });
});

describe('a trial that is aborted', () => {
  test('rejects with the reason, and ends the server', async () => {
    const server = createAnswering({ initialize: 'silence' });
    const { trial, cancel } = begin(server);
    await settle();
    server.write('noise');
    cancel();
    await assert.rejects(trial, /^Error: enough$/);
    assert.equal(server.isAlive, false);
  });

  test('ends a server whose launch completes after that', async () => {
    const launching = Promise.withResolvers<Instance>();
    const late = createAnswering(legacyReplies);
    const { trial, cancel } = begin(() => launching.promise);
    await settle();
    cancel();
    launching.resolve(late);
    await assert.rejects(trial, /^Error: enough$/);
    assert.equal(late.isAlive, false);
  });
});
