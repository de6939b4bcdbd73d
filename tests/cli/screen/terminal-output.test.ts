import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { systemClock } from '#core';
import { openTerminalOutput } from '../../../hub/cli/screen/terminal-output.ts';

const stream = (fd: number, columns: number, rows: number) => ({
  fd,
  columns,
  rows,
  on() {},
  off() {},
});

test('writes all bytes, and stops when the terminal is gone', async () => {
  const file = join(tmpdir(), `agenthub-terminal-${process.pid}`);
  const fd = openSync(file, 'w');
  const terminal = openTerminalOutput(stream(fd, 100, 40), systemClock);
  await terminal.write('日本語');
  terminal.close();
  await terminal.write('to nobody');
  closeSync(fd);
  await openTerminalOutput(stream(fd, 100, 40), systemClock).write('to nobody');
  assert.equal(readFileSync(file, 'utf8'), '日本語');
  rmSync(file);
  assert.deepEqual([terminal.columns, terminal.rows], [100, 40]);
});

test('a terminal without a size gets the default size', () => {
  const terminal = openTerminalOutput(stream(1, 0, 0), systemClock);
  assert.deepEqual([terminal.columns, terminal.rows], [80, 24]);
  terminal.close();
});
