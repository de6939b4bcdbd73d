import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { withProfile } from '#policy';
import type { SessionSettings } from '#routing';
import { createReplayBudget } from '../../hub/transports/event-stream.ts';
import { createHttpSession } from '../../hub/transports/http-session.ts';
import { createDisk, createScriptedSession, openSaved } from './scripted-session.ts';

const idleMs = 30 * 60_000;
const none: SessionSettings = { logLevel: undefined, subscriptions: [] };
const opened = {
  client: { clientInfo: '{"name":"a"}', capabilities: '{}' },
  protocolVersion: '2025-11-25',
};
const clock = createManualClock();

/** Starts a run of a hub whose journal is `disk`. */
async function startRun(disk = createDisk(), maxSessions = 100) {
  const saved = await openSaved(disk, { clock, idleMs, maxSessions });
  return {
    saved,
    disk,
    find: (id: string) => saved.find(id, 'all', caller)?.settings,
    /** Opens a session whose settings the test can change. */
    open() {
      const state: { settings: SessionSettings | undefined } = { settings: none };
      const id = saved.seal('all', caller, { ...opened, openedAt: clock.now() }) ?? '';
      const http = createHttpSession(
        id,
        'all',
        () => ({ ...createScriptedSession().session, save: () => state.settings }),
        { clock, budget: createReplayBudget(1024) },
      );
      saved.track(http);
      return {
        id,
        http,
        change: (settings: SessionSettings | undefined) => {
          state.settings = settings;
          saved.touch(http);
          clock.advance(100);
        },
      };
    },
  };
}

test('the next run finds a session with its latest settings', async () => {
  const run = await startRun();
  const { id, change } = run.open();
  change(none);
  const settings: SessionSettings = {
    logLevel: 'debug',
    subscriptions: [{ server: 'echo', uri: 'a://b', publicUri: 'echo+a://b' }],
  };
  change(settings);
  const next = await startRun(run.disk);
  assert.deepEqual(next.find(id), settings);
});

test('a session is unknown until its record is written', async () => {
  const run = await startRun();
  const { id, http } = run.open();
  run.saved.touch(http);
  assert.equal((await startRun(run.disk)).find(id), undefined);
});

test('nothing is written without a change', async () => {
  const run = await startRun();
  const { change } = run.open();
  for (let times = 0; times < 5; times++) change({ ...none });
  assert.equal(run.disk.lines.length, 1);
});

test('a session that ended is unknown to the next run', async () => {
  const run = await startRun();
  const { id, http, change } = run.open();
  change(none);
  await run.saved.forget(http);
  assert.equal((await startRun(run.disk)).find(id), undefined);
  assert.equal(run.saved.forget(http), undefined, 'it is forgotten once');
});

test('a session is unknown while it cannot be resumed', async () => {
  const run = await startRun();
  const { id, change } = run.open();
  change(none);
  change(undefined);
  assert.equal((await startRun(run.disk)).find(id), undefined);
  change(none);
  assert.deepEqual((await startRun(run.disk)).find(id), none);
});

test('settings that are too large cannot be resumed', async () => {
  const run = await startRun();
  const { id, change } = run.open();
  const uri = `a://${'b'.repeat(20_000)}`;
  change({ ...none, subscriptions: [{ server: 'echo', uri, publicUri: uri }] });
  assert.equal((await startRun(run.disk)).find(id), undefined);
});

test('a session expires when it was not used for as long as one may be idle', async () => {
  const run = await startRun();
  const { id, change, http } = run.open();
  change(none);
  clock.advance(idleMs - 60_000);
  const next = await startRun(run.disk);
  assert.deepEqual(next.find(id), none);
  clock.advance(120_000);
  assert.equal(next.find(id), undefined);
  assert.equal((await startRun(run.disk)).find(id), undefined);

  http.active = 1;
  run.saved.refresh();
  clock.advance(100);
  assert.deepEqual((await startRun(run.disk)).find(id), none, 'it was in use meanwhile');
});

test('the time of the last use is written no more often than every five minutes', async () => {
  const run = await startRun();
  const { change, http } = run.open();
  http.active = 1;
  change(none);
  for (let minutes = 0; minutes < 20; minutes++) {
    clock.advance(60_000);
    run.saved.refresh();
  }
  clock.advance(100);
  assert.equal(run.disk.lines.length, 4);
});

test('a hub that stops saves its sessions, and removes none of them', async () => {
  const run = await startRun();
  const { id, http } = run.open();
  run.saved.saveAll();
  assert.equal(run.saved.forget(http), undefined);
  await run.saved.stop();
  assert.equal(run.disk.closed, 1);
  assert.deepEqual((await startRun(run.disk)).find(id), none);
});

test('above the maximum the oldest sessions are unknown', async () => {
  const run = await startRun(createDisk(), 1);
  const sessions = Array.from({ length: 3 }, () => run.open());
  for (const { change } of sessions) change(none);
  const next = await startRun(run.disk, 1);
  assert.deepEqual(
    sessions.map(({ id }) => next.find(id) !== undefined),
    [false, true, true],
  );
});

test('lines that are not records are skipped', async () => {
  const disk = createDisk();
  disk.lines.push('[]', '"text"', '{"key":1}', '{"key":"a","usedAt":"soon"}');
  const next = await startRun(disk);
  assert.equal(next.find('hub.a'), undefined);
});

test('a session is unknown at the address of a profile', async () => {
  const run = await startRun();
  const { id, change } = run.open();
  change(none);
  const next = await startRun(run.disk);
  assert.equal(next.saved.find(id, 'all', withProfile(caller, 'work')), undefined);
  assert.ok(next.find(id));
});
