import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServerConfig } from '#config';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createTestEras } from '#helpers/hub';
import { olderKeyOf } from '../../../hub/servers/handshake/eras.ts';
import { duringStart, launchInEra } from '../../../hub/servers/handshake/launch-in-era.ts';
import type { Own } from '../../../hub/servers/server-types.ts';
import {
  type Answering,
  type Replies,
  createAnswering,
  legacyReplies,
  modernReplies,
  settle,
  startNeedsOf,
} from '../answering.ts';
import { configFor, supervise } from '../scripted.ts';

const remote = (transport: 'http' | 'sse') =>
  ({ kind: 'remote', transport, url: 'http://far/mcp', headers: {} }) as const;

/** Returns the identity of the instance that serves the clients of one era (legacy or modern). */
const ownOf = (era: Own['era']): Own => ({
  instance: 'shared-era',
  base: supervise().server,
  client: undefined,
  era,
  isShared: true,
});

/** Launches a server with these instances, in order. Each instance writes its name to stderr. */
function open(config: Partial<ServerConfig>, instances: readonly Answering[], own?: Own) {
  const clock = createManualClock();
  const eras = createTestEras(silent);
  const left = [...instances];
  const launched: (string | undefined)[] = [];
  const stderr: string[] = [];
  const strays: string[] = [];
  const cancelling = new AbortController();
  const whole = configFor({ era: 'auto', startTimeoutMs: 10_000, ...config });
  const needs = startNeedsOf({
    clock,
    eras,
    own,
    config: whole,
    signal: cancelling.signal,
    events: {
      stderr: line => void stderr.push(line),
      progress() {},
      stray: text => void strays.push(text),
    },
    async launch(_config, events, _signal, instance) {
      launched.push(instance);
      events.stderr(instance ?? 'first');
      return left.shift() ?? assert.fail('one launch too many');
    },
  });
  return {
    clock,
    eras,
    launched,
    stderr,
    strays,
    needs,
    cancel: () => cancelling.abort(),
    keyOf: ({ identity }: Answering) => eras.keyOf(whole, identity),
    launch: () => launchInEra(needs),
  };
}

describe('the era of a handshake', () => {
  test('is that of the entry, without a request to the server', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const only = createAnswering({});
      const { opening, entryEra, instance } = await open({ era }, [only], ownOf('legacy')).launch();
      assert.deepEqual([opening, entryEra], [era, era]);
      assert.equal(instance, only);
      assert.deepEqual(only.methods, []);
    }
  });

  test('is the older one over SSE, which the stateless revision does not support', async () => {
    const scene = open({ launch: remote('sse') }, [createAnswering({})]);
    assert.equal((await scene.launch()).opening, 'legacy');
  });

  test('of a remote server is tried, or remembered', async () => {
    const [one, two] = [createAnswering({}), createAnswering({})];
    const scene = open({ launch: remote('http') }, [one, two]);
    assert.equal((await scene.launch()).opening, 'newest');
    await scene.eras.confirm(scene.keyOf(one), 'legacy', false);
    assert.equal((await scene.launch()).opening, 'legacy');
    assert.deepEqual([...one.methods, ...two.methods], []);
  });

  test('of a local server is remembered by its program', async () => {
    const one = createAnswering({}, { identity: 'sha256:1' });
    const scene = open({}, [one]);
    await scene.eras.confirm(scene.keyOf(one), 'modern', true);
    assert.equal((await scene.launch()).opening, 'modern');
    assert.deepEqual(scene.launched, [undefined], 'nothing is probed');
  });
});

describe('an instance for clients of the older era', () => {
  const launchFor = async (era: Own['era'], instance: Answering, isKnown = false) => {
    const scene = open({ launch: remote('http') }, [instance], ownOf(era));
    if (isKnown) await scene.eras.confirm(olderKeyOf(scene.keyOf(instance)), 'modern', false);
    const { opening, isOlder } = await scene.launch();
    return [opening, isOlder];
  };

  test('is initialized, unless its server is known to speak the newer era only', async () => {
    assert.deepEqual(await launchFor('legacy', createAnswering({})), ['legacy', true]);
    assert.deepEqual(await launchFor('legacy', createAnswering({}), true), ['newest', false]);
  });

  test('is not initialized if its server has no sessions', async () => {
    const mayKeepSessions = async () => false;
    assert.deepEqual(await launchFor('legacy', createAnswering({}, { mayKeepSessions })), [
      'newest',
      false,
    ]);
  });

  test('is distinguished from one for clients of the newer era', async () => {
    assert.deepEqual(await launchFor('modern', createAnswering({})), ['newest', false]);
  });
});

describe('a local server whose era is unknown', () => {
  test('is probed on its first instance, which another one replaces', async () => {
    const [probed, used] = [createAnswering(modernReplies), createAnswering({})];
    const scene = open({}, [probed, used]);
    const { opening, instance } = await scene.launch();
    assert.equal(opening, 'modern');
    assert.equal(instance, used);
    assert.deepEqual(scene.launched, [undefined, undefined]);
    assert.deepEqual([probed.isAlive, used.methods], [false, []]);
    assert.equal(scene.clock.waiting, 0);
  });

  test('is probed beside the used instance if its program has an identity', async () => {
    const used = createAnswering({}, { identity: 'sha256:1' });
    const probed = createAnswering(modernReplies);
    const scene = open({}, [used, probed]);
    const { opening, instance } = await scene.launch();
    assert.equal(opening, 'modern');
    assert.equal(instance, used);
    assert.deepEqual(scene.launched, [undefined, 'probe']);
    assert.deepEqual(scene.stderr, ['first'], 'that of the probe is not told');
    assert.deepEqual([used.isAlive, used.methods, probed.isAlive], [true, [], false]);
  });

  test('is launched under the name of its instance each time', async () => {
    const scene = open({}, [createAnswering(modernReplies), createAnswering({})], ownOf('modern'));
    await scene.launch();
    assert.deepEqual(scene.launched, ['shared-era', 'shared-era']);
  });

  const refusing = (code: number) => ({ error: { code, message: 'no' } });
  test.each<[string, Replies, string]>([
    ['answers', modernReplies, 'modern'],
    ['refuses the request as unknown', legacyReplies, 'legacy'],
    ['refuses it for a missing header', { 'server/discover': refusing(-32020) }, 'modern'],
    ['ends at it', { 'server/discover': 'end' }, 'legacy'],
  ])('that %s is determined', async (_, replies, era) => {
    const scene = open({}, [createAnswering(replies), createAnswering({})]);
    assert.equal((await scene.launch()).opening, era);
  });

  const silence = { 'server/discover': 'silence' } as const;
  test.each<[string, Replies, string]>([
    ['is initialized', { ...legacyReplies, ...silence }, 'legacy'],
    ['refuses that as unknown', silence, 'legacy'],
    ['refuses that for a missing header', { ...silence, initialize: refusing(-32020) }, 'modern'],
  ])('that is silent for 2 s and then %s is determined', async (_, replies, era) => {
    const probed = createAnswering(replies);
    const scene = open({}, [probed, createAnswering({})]);
    const launched = scene.launch();
    await settle();
    scene.clock.advance(1_999);
    assert.deepEqual(probed.methods, ['server/discover']);
    scene.clock.advance(1);
    assert.equal((await launched).opening, era);
  });

  test('that never answers fails its start in time, and leaves no objects', async () => {
    const probed = createAnswering({ ...silence, initialize: 'silence' });
    const scene = open({}, [probed]);
    const refused = assert.rejects(scene.launch(), {
      code: 'HUB_SERVER_START_FAILED',
      message: /did not answer.*Raise "start_timeout"/,
    });
    await settle();
    scene.clock.advance(10_000);
    await refused;
    assert.equal(probed.isAlive, false);
    assert.equal(await scene.eras.recall(scene.keyOf(probed)), undefined);
  });

  test('fails its start if the used instance exits while the other is probed', async () => {
    const used = createAnswering({}, { identity: 'sha256:1' });
    const scene = open({}, [used, createAnswering(silence)]);
    const refused = assert.rejects(scene.launch(), {
      code: 'HUB_SERVER_DOWN',
      message: 'scripted is gone: exited with code 1',
    });
    await settle();
    used.end({ code: 1, detail: 'exited with code 1' });
    await refused;
  });

  test('has its other output in the error, if it does not answer', async () => {
    const mute = { ...silence, initialize: 'silence' } as const;
    for (const identity of [undefined, 'image']) {
      const servers = [createAnswering(mute, identity ? { identity } : {}), createAnswering(mute)];
      const scene = open({}, servers);
      for (const server of servers) server.write('listening on port 3000');
      const launching = assert.rejects(scene.launch(), /in time/);
      await settle();
      scene.clock.advance(10_000);
      await launching;
      assert.deepEqual(scene.strays, ['listening on port 3000']);
    }
  });

  test('is stopped with its probe when the start is cancelled', async () => {
    const used = createAnswering({}, { identity: 'sha256:1' });
    const probed = createAnswering(silence);
    const scene = open({}, [used, probed]);
    const refused = assert.rejects(scene.launch(), { code: 'HUB_SERVER_STOPPED' });
    await settle();
    scene.cancel();
    await refused;
    assert.deepEqual([used.isAlive, probed.isAlive], [false, false]);
  });
});

describe('work during a start', () => {
  test('returns its result, and leaves no timer', async () => {
    const { clock, needs } = open({}, []);
    assert.equal(await duringStart(Promise.resolve('done'), needs, 1_000), 'done');
    assert.equal(clock.waiting, 0);
  });

  test('times out, if it has a time limit', async () => {
    const { clock, needs } = open({}, []);
    const work = Promise.withResolvers<string>();
    const late = assert.rejects(duringStart(work.promise, needs, 1_000), {
      code: 'HUB_SERVER_START_FAILED',
    });
    const unlimited = duringStart(work.promise, needs);
    clock.advance(1_000_000);
    await late;
    work.resolve('done');
    assert.equal(await unlimited, 'done');
  });

  test('fails when the start is cancelled', async () => {
    const { needs, cancel } = open({}, []);
    const given = assert.rejects(duringStart(new Promise(() => {}), needs, 1_000), {
      code: 'HUB_SERVER_STOPPED',
      message: 'it was stopped while it started',
    });
    cancel();
    await given;
  });
});
