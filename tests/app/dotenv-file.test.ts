import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, onTestFinished, test } from 'vitest';
import { neverAborted, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { makeTempFolder } from '#helpers/temp-folder';
import { readDotenvFile } from '../../hub/app/dotenv-file.ts';

const inTime = { clock: systemClock, signal: neverAborted };

function makePipe(): string {
  const file = join(makeTempFolder('dotenv'), '.env');
  execFileSync('mkfifo', [file]);
  return file;
}

/** Starts a program that runs a shell command with the file as its first argument. */
function runWriter(command: string, file: string): void {
  const writer = spawn('sh', ['-c', command, 'sh', file], { stdio: 'ignore' });
  onTestFinished(() => void writer.kill());
}

describe('a pipe', () => {
  test('is read like a file, also after its writer has waited', async () => {
    const file = makePipe();
    const reading = readDotenvFile(file, inTime);
    runWriter('{ printf "A=1\\n"; sleep 0.2; printf "B=2\\n"; } > "$1"', file);
    assert.equal((await reading).toString(), 'A=1\nB=2\n');
    runWriter('printf "A=3\\n" > "$1"', file);
    assert.equal((await readDotenvFile(file, inTime)).toString(), 'A=3\n');
  });

  test('is given up after 30 s without content', async () => {
    const clock = createManualClock();
    const reading = readDotenvFile(makePipe(), { clock, signal: neverAborted });
    const refused = assert.rejects(reading, {
      message:
        'it is a pipe whose content did not arrive within 30 s. Start the program that writes it, or remove it',
    });
    while (clock.waiting === 0) await turn();
    clock.advance(30_000);
    while (clock.waiting === 0) await turn();
    clock.advance(20);
    await refused;
  });

  test('is given up when the process ends', async () => {
    const ending = new AbortController();
    const reading = readDotenvFile(makePipe(), { ...inTime, signal: ending.signal });
    const ended = assert.rejects(reading, { message: 'SIGTERM' });
    ending.abort(new Error('SIGTERM'));
    await ended;
  });

  test('is refused with more than 1 MiB', async () => {
    const file = makePipe();
    runWriter('yes > "$1"', file);
    await assert.rejects(readDotenvFile(file, inTime), {
      message: 'it is a pipe with more than 1048576 bytes. Use another file',
    });
  });
});

test('a regular file is read, and a missing one has the error of the system', async () => {
  const file = join(makeTempFolder('dotenv'), '.env');
  await assert.rejects(readDotenvFile(file, inTime), { code: 'ENOENT' });
  await writeFile(file, 'A=1\n');
  assert.equal((await readDotenvFile(file, inTime)).toString(), 'A=1\n');
  assert.equal((await readDotenvFile('/dev/null', inTime)).length, 0);
});
