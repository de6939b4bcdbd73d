import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'vitest';
import { record } from '../../contracts/recorder.ts';
import { launchProcess, launchSource } from './launch.ts';

const graceful = { graceMs: 2000 };

describe('launching a process', () => {
  test('passes on PATH, HOME, the temporary folder and the locale, and the variables of the entry', async () => {
    const instance = await launchSource(
      `console.log(JSON.stringify({jsonrpc:'2.0',method:'env',params:process.env}))`,
      {
        base: {
          PATH: '/usr/bin',
          HOME: '/home/somebody',
          TMPDIR: '/tmp',
          LANG: 'C.UTF-8',
          LC_ALL: 'C',
          NODE_EXTRA_CA_CERTS: '/etc/ssl/ours.pem',
          GITHUB_TOKEN: 'a secret of the hub',
          NODE_OPTIONS: '--no-warnings',
        },
        env: { API_KEY: 'given', LANG: 'de_DE.UTF-8' },
      },
    );
    const [message] = await record(instance.channel).notifications('env', 1);
    assert.deepEqual(JSON.parse(message ?? '').params, {
      PATH: '/usr/bin',
      HOME: '/home/somebody',
      TMPDIR: '/tmp',
      LANG: 'de_DE.UTF-8',
      LC_ALL: 'C',
      NODE_EXTRA_CA_CERTS: '/etc/ssl/ours.pem',
      API_KEY: 'given',
    });
    await instance.stop(graceful);
  });

  test('starts it in its working directory', async () => {
    const instance = await launchSource(
      `console.log(JSON.stringify({jsonrpc:'2.0',method:'cwd',params:{cwd:process.cwd()}}))`,
      { target: { workingDirectory: '/' } },
    );
    assert.match(String(await record(instance.channel).notifications('cwd', 1)), /"cwd":"\/"/);
    await instance.stop(graceful);
  });

  test.for([
    ['npx', /"npx" was not found on the PATH.*nodejs\.org/],
    ['uvx', /"uvx" was not found on the PATH.*docs\.astral\.sh\/uv/],
    ['no-such-command', /"no-such-command" was not found on the PATH/],
    ['/no/such/file', /"\/no\/such\/file" does not exist/],
  ] as const)(
    'reports that %s is missing and where the name comes from',
    async ([command, message]) => {
      await assert.rejects(launchProcess({ target: { command }, base: { PATH: '/nowhere' } }), {
        code: 'HUB_COMMAND_MISSING',
        message,
      });
    },
  );

  test('reports that the working directory is missing', async () => {
    await assert.rejects(launchSource('', { target: { workingDirectory: '/no/such/folder' } }), {
      code: 'HUB_LAUNCH_INVALID',
      message: /"\/no\/such\/folder" does not exist/,
    });
    await assert.rejects(launchSource('', { target: { workingDirectory: process.execPath } }), {
      code: 'HUB_LAUNCH_INVALID',
      message: /is not a folder/,
    });
  });

  test('reports that a file is not executable', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'agenthub-'));
    try {
      const command = path.join(folder, 'server');
      await writeFile(command, '#!/bin/sh\n', { mode: 0o644 });
      await assert.rejects(launchProcess({ target: { command } }), {
        code: 'HUB_LAUNCH_INVALID',
        message: /may not be executed/,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('does not show an argument that cannot be passed', async () => {
    const launched = launchSource('', { target: { args: ['--token=secret\0'] } });
    await assert.rejects(launched, (error: Error & { code?: string }) => {
      assert.equal(error.code, 'HUB_LAUNCH_INVALID');
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  });

  test('refuses to start once it is cancelled', async () => {
    await assert.rejects(launchSource('', { signal: AbortSignal.abort() }), {
      code: 'HUB_CALL_CANCELLED',
    });
  });
});
