import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createStderrRing, lastWordsOf } from '../../../hub/servers/lifecycle/stderr-ring.ts';

test('for a failed start all output since the launch counts, however old', () => {
  const clock = createManualClock();
  const ring = createStderrRing(clock);
  ring.add('of the instance before');
  ring.clear();
  assert.deepEqual(lastWordsOf(ring, false), { quoted: '', line: undefined, stderr: '' });
  ring.add('KEY is missing');
  ring.add('Node.js v24.21.0');
  clock.advance(60_000);
  assert.deepEqual(lastWordsOf(ring, false), {
    quoted: 'It wrote since its launch: KEY is missing',
    line: 'KEY is missing',
    stderr: 'KEY is missing\nNode.js v24.21.0',
  });
});

test('for a server that ran only recent output counts', () => {
  const clock = createManualClock();
  const ring = createStderrRing(clock);
  ring.add('listening');
  ring.add('out of memory\r');
  clock.advance(5_000);
  assert.deepEqual(lastWordsOf(ring, true), {
    quoted: 'The last it wrote in the 5 s before: out of memory',
    line: undefined,
    stderr: 'listening\nout of memory\r',
  });
  clock.advance(1);
  assert.deepEqual(lastWordsOf(ring, true), {
    quoted: '',
    line: undefined,
    stderr: 'listening\nout of memory\r',
  });
});

test('an error line from long before the exit does not explain it', () => {
  const clock = createManualClock();
  const ring = createStderrRing(clock);
  ring.add('Error: one request failed');
  clock.advance(5_001);
  ring.add('bye');
  assert.equal(lastWordsOf(ring, true).quoted, 'The last it wrote in the 5 s before: bye');
});

test('a long stack does not displace the line with its reason', () => {
  const ring = createStderrRing(createManualClock());
  const frames = Array.from({ length: 60 }, (_, at) => `   at Module.Run(${at})`);
  for (const line of ['Cannot find KEY', ...frames, 'ended', ...frames]) ring.add(line);
  const kept = frames.slice(0, 10);
  const { line, stderr } = lastWordsOf(ring, false);
  assert.equal(line, 'Cannot find KEY');
  assert.deepEqual(stderr.split('\n'), ['Cannot find KEY', ...kept, 'ended', ...kept]);
});

test('a long line is quoted with its first 500 characters', () => {
  const ring = createStderrRing(createManualClock());
  const long = 'e'.repeat(4_000);
  ring.add(long);
  assert.deepEqual(lastWordsOf(ring, true), {
    quoted: `The last it wrote in the 5 s before: ${'e'.repeat(500)}...`,
    line: undefined,
    stderr: long,
  });
});
