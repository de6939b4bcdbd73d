import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'vitest';
import { giveWay } from '../../../hub/documentation/process/give-way.ts';

/** Starts a process that leads its own session and waits. */
const start = () =>
  spawn(process.execPath, ['--eval', 'process.stdin.resume()'], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });

test('a process gets a lower priority, and so does its session where Linux groups processes by session', async () => {
  const child = start();
  const pid = child.pid ?? assert.fail();
  giveWay(pid);
  assert.equal(getPriority(pid), 5);
  let group = 'none';
  try {
    group = readFileSync(`/proc/${pid}/autogroup`, 'utf8').trim();
  } catch {}
  assert.match(group, /^none$|nice 5$/);
  child.stdin.end();
  await once(child, 'exit');
  giveWay(pid);
});
