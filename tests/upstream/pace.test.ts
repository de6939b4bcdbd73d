import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createPace } from '../../hub/upstream/pace.ts';

/** Creates a pace of ten messages a second, over a channel that only records whether it is paused. */
function createScene() {
  const clock = createManualClock();
  const closed = Promise.withResolvers<{ readonly reason: string }>();
  const scene = { isRead: true, perSecond: 10, lines: 0 };
  const pace = createPace(
    {
      closed: closed.promise,
      pause: () => (scene.isRead = false),
      resume: () => (scene.isRead = true),
    },
    () => scene.perSecond,
    { clock, output: { info() {}, warn: () => void scene.lines++ } },
  );
  const send = (messages: number, bytes = 100) => {
    for (let sent = 0; sent < messages; sent++) pace.count(bytes);
  };
  return { clock, scene, pace, send, close: () => closed.resolve({ reason: 'over' }) };
}

test('a server is read without delay within its limit, and for a burst of one second', () => {
  const { scene, send, clock } = createScene();
  send(10);
  for (let second = 0; second < 10; second++) {
    clock.advance(1_000);
    send(10);
  }
  assert.equal(scene.isRead, true);
  assert.equal(scene.lines, 0);
});

test('above its limit, its output is read again when the time for what it has sent is over', () => {
  const { scene, send, clock } = createScene();
  send(25);
  assert.equal(scene.isRead, false);
  clock.advance(1_490);
  assert.equal(scene.isRead, false);
  clock.advance(20);
  assert.equal(scene.isRead, true);
  assert.equal(scene.lines, 1);
});

test('a flood is logged once a minute', () => {
  const { scene, send, clock } = createScene();
  for (let second = 0; second < 59; second++) {
    send(20);
    clock.advance(1_000);
  }
  assert.equal(scene.lines, 1);
  clock.advance(60_000);
  send(20);
  assert.equal(scene.lines, 2);
});

test('long messages count as several, and the longest as those of one second', () => {
  const { scene, send, clock } = createScene();
  send(5, 4096);
  assert.equal(scene.isRead, true);
  send(1, 64 * 1024 * 1024);
  assert.equal(scene.isRead, false);
  clock.advance(1_100);
  assert.equal(scene.isRead, true);
});

test('copies for several clients count as a tenth of a message each', () => {
  const { scene, pace } = createScene();
  pace.countCopies(9);
  for (let sent = 0; sent < 10; sent++) pace.countCopies(10);
  assert.equal(scene.isRead, true);
  pace.countCopies(10);
  assert.equal(scene.isRead, false);
});

test('a changed limit applies at once', () => {
  const { scene, send, clock } = createScene();
  scene.perSecond = 1_000;
  clock.advance(1_000);
  send(900);
  assert.equal(scene.isRead, true);
});
