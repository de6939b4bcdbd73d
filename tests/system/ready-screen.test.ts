import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { until } from '#helpers/hub';
import { createEmulator } from '../cli/screen/emulator.ts';

const root = join(import.meta.dirname, '..', '..');
const fixtures = join(root, 'tests', 'fixtures', 'servers');

/** ANSI codes of colors and font weights. */
const styles = new RegExp(String.raw`${'\u001b'}\[[\d;]*m`);

/** Runs `agenthub serve` on a pseudo terminal of util-linux, and collects its output. */
async function openTerminal(env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-screen-'));
  const config = join(folder, 'hub.json');
  const entry = (file: string) => ({
    command: process.execPath,
    args: [join(fixtures, file)],
    runtime: 'process',
    auto_start: true,
    max_restarts: 1,
  });
  const servers = { calendar: entry('calendar.mjs'), broken: entry('exit-at-once.mjs') };
  await writeFile(config, JSON.stringify({ servers }));
  const hub = `${process.execPath} ${join(root, 'bin', 'agenthub.mjs')} serve --port 0 --config ${config}`;
  const child = spawn(
    'script',
    ['-qfec', `echo $$ > pid; stty cols 90 rows 30; exec ${hub}`, '/dev/null'],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        TERM: 'xterm-256color',
        DATA_DIR: folder,
        ...env,
      },
    },
  );
  const emulator = createEmulator(90, 30);
  let raw = '';
  child.stdout.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
    if (env['LOG_FORMAT'] === undefined) emulator.write(chunk.toString());
  });
  return {
    text: emulator.text,
    raw: () => raw,
    type: (keys: string) => child.stdin.write(keys),
    /** Sends SIGTERM to the hub, like a service manager. Resolves when its terminal is closed. */
    async terminate(): Promise<void> {
      const hubPid = Number(await readFile(join(folder, 'pid'), 'utf8'));
      process.kill(hubPid, 'SIGTERM');
      await once(child, 'exit');
    },
    /** Presses Ctrl-C. Resolves with the exit code. */
    async interrupt(): Promise<unknown> {
      child.stdin.write('\u0003');
      const [code] = await once(child, 'exit');
      return code;
    },
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }),
  };
}

/** True if the hub is ready and its servers run or have failed: `Next:` is the last line. */
const isReady = ({ text }: { text: () => string }) =>
  /failed/.test(text()) && /3 tools/.test(text()) && /Next: /.test(text());

test('a terminal shows addresses, servers and the next step, and a clean end after Ctrl-C', async () => {
  await using terminal = await openTerminal();
  await until(() => isReady(terminal), terminal.text);
  const shown = terminal.text();
  assert.match(shown, /AgentHub \d\S+ {2}ready in \d/);
  assert.match(shown, /MCP {8}http:\/\/localhost:\d+\/mcp\n/);
  assert.match(shown, /Dashboard {2}http:\/\/localhost:\d+\/dashboard\/login\?code=/);
  assert.match(shown, /Config {5}\S+hub\.json, watched/);
  assert.match(shown, /● calendar {2}running {6}3 tools\n/);
  assert.match(shown, /✖ broken {4}failed {7}\S.*\n {14}npx agenthub logs broken\n/);
  assert.match(shown, /Next: npx agenthub connect/);
  assert.match(terminal.raw(), styles);
  assert.equal(await terminal.interrupt(), 0);
  const last = terminal.text();
  assert.match(last, /\n {2}AgentHub has stopped\.\n$/);
  assert.doesNotMatch(last, /● calendar|Next:/);
});

test('LOG_FORMAT=json keeps one JSON object for each line on a terminal', async () => {
  await using terminal = await openTerminal({ LOG_FORMAT: 'json' });
  await until(() => terminal.raw().includes('Dashboard:'), terminal.raw);
  assert.equal(await terminal.interrupt(), 0);
  const lines = terminal
    .raw()
    .replaceAll('^C', '')
    .split(/\r?\n/)
    .filter(line => line.startsWith('{'));
  assert.ok(lines.length > 3);
  for (const line of lines) JSON.parse(line);
  assert.match(terminal.raw(), /AgentHub answers at http/);
});

test('NO_COLOR=1 shows the same without colours', async () => {
  await using terminal = await openTerminal({ NO_COLOR: '1' });
  await until(() => isReady(terminal), terminal.text);
  assert.match(terminal.text(), /● calendar {2}running {6}3 tools\n/);
  assert.equal(await terminal.interrupt(), 0);
  assert.doesNotMatch(terminal.raw(), styles);
});

test('a terminal that is paused by Ctrl-S stops neither calls nor the end of the hub', async () => {
  await using terminal = await openTerminal();
  await until(() => isReady(terminal), terminal.text);
  const [url = ''] = /http:\/\/localhost:\d+/.exec(terminal.text()) ?? [];
  const signal = AbortSignal.timeout(20_000);
  const callTool = async (title: string) => {
    const body = JSON.stringify({ name: 'cancel_event', arguments: { title } });
    const call = `${url}/mcp/calendar/tools/call`;
    const response = await fetch(call, { method: 'POST', body, signal });
    assert.match(await response.text(), new RegExp(`there is no event ${title}`));
  };

  await callTool('before');
  await until(() => /calendar \| cancel_event.*before/.test(terminal.text()), terminal.text);
  terminal.type('\u0013');
  // Ctrl-S above pauses the terminal before the server writes these lines.
  for (let at = 0; at < 100; at += 1) await callTool(`paused ${at}`);
  const shown = terminal.raw();
  await callTool('once more');
  const { status } = await fetch(`${url}/health`, { signal });
  assert.equal(status, 200);
  assert.equal(terminal.raw(), shown);

  terminal.type('\u0011');
  // The hub counts lines beyond 50 a second instead of logging them. A slow machine may not reach that rate.
  await until(() => /once more|lines were not logged/.test(terminal.text()), terminal.text);
  assert.match(terminal.text(), /● calendar {2}running/);

  terminal.type('\u0013');
  await callTool('again');
  await terminal.terminate();
});
