import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { getJson, settled } from '#helpers/hub-process';

const root = join(import.meta.dirname, '..', '..');
const fixtures = join(root, 'tests', 'fixtures', 'servers');

type Started = AsyncDisposable & {
  readonly url: string;
  readonly child: ChildProcess;
  /** Resolves with the exit code, or with the signal that ended the process. */
  readonly ended: Promise<number | string | null>;
};

/** Starts a hub with one server that does not exit at the end of its stdin. Nothing reads the hub's log. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-process-'));
  const file = join(folder, 'mcp-servers.json');
  const args = [join(fixtures, 'echo.mjs')];
  const echo = { command: process.execPath, args, runtime: 'process', auto_start: true };
  writeFileSync(file, JSON.stringify({ servers: { echo } }));
  const child = spawn(
    process.execPath,
    [join(root, 'bin', 'agenthub.mjs'), 'serve', '--config', file, '--port', '0'],
    {
      cwd: folder,
      env: { ...process.env, DATA_DIR: join(folder, 'data'), LOG_FORMAT: 'json', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const ended = once(child, 'exit').then(() => child.exitCode ?? child.signalCode);
  let url = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    url = /answers at (\S+)\/mcp/.exec(String(chunk))?.[1] ?? '';
    if (url) break;
  }
  await settled({ url }, 20_000);
  return {
    url,
    child,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Returns the pid of the server behind the hub. */
async function serverPid(hub: Started): Promise<number> {
  const text = JSON.stringify(await getJson(hub, '/servers/echo'));
  return Number(/"pid":(\d+)/.exec(text)?.[1]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.for(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s ends the hub in order: its server is gone, the exit code is 0',
  async signal => {
    await using hub = await start();
    const pid = await serverPid(hub);
    assert.ok(isAlive(pid));
    hub.child.kill(signal);
    assert.equal(await hub.ended, 0);
    assert.equal(isAlive(pid), false);
  },
);

/** Hub shared by a test that only reads and the test that stops it. */
let shared: Started;
beforeAll(async () => {
  shared = await start();
});
afterAll(() => shared?.[Symbol.asyncDispose]());

test('the printed address is one that a browser on this machine can open', () => {
  assert.match(shared.url, /^http:\/\/localhost:\d+$/);
});

test('two signals at once, as under npm, count as one', async () => {
  await using hub = await start();
  const pid = await serverPid(hub);
  hub.child.kill('SIGINT');
  hub.child.kill('SIGINT');
  assert.equal(await hub.ended, 0);
  assert.equal(isAlive(pid), false);
});

test('a log that nobody reads holds neither calls nor the end', { timeout: 60_000 }, async () => {
  // Nothing reads stderr, whose pipe holds 64 KiB. The hub logs each call.
  await using hub = await start({ LOG_LEVEL: 'debug' });
  for (let call = 0; call < 50; call++) {
    const answer = await fetch(`${hub.url}/mcp/echo/tools/call`, {
      method: 'POST',
      body: JSON.stringify({ name: 'noise', arguments: {} }),
      signal: AbortSignal.timeout(5_000),
    });
    assert.match(await answer.text(), /noisy/);
  }
  // The hub logs each refused Origin with its value.
  for (let call = 0; call < 300; call++) {
    const answer = await fetch(`${hub.url}/health`, {
      headers: { origin: `http://${'x'.repeat(2_000)}.example` },
      signal: AbortSignal.timeout(5_000),
    });
    assert.equal(answer.status, 403);
  }
  hub.child.kill('SIGTERM');
  assert.equal(await hub.ended, 0);
});

test('a closed stdout or stderr does not end the hub', async () => {
  const hub = shared;
  hub.child.stdout?.destroy();
  hub.child.stderr?.destroy();
  for (let call = 0; call < 20; call++) {
    const answer = await fetch(`${hub.url}/mcp/echo/tools/call`, {
      method: 'POST',
      body: JSON.stringify({ name: 'noise', arguments: {} }),
    });
    assert.match(await answer.text(), /noisy/);
  }
  hub.child.kill('SIGTERM');
  assert.equal(await hub.ended, 0);
});
