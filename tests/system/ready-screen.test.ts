import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { until } from '#helpers/hub';
import { createEmulator } from '../cli/screen/emulator.ts';

const root = join(import.meta.dirname, '..', '..');
const fixtures = join(root, 'tests', 'fixtures', 'servers');

/** Runs `agenthub serve` on a pseudo terminal of util-linux, and shows what that shows. */
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
  const hub = `${process.execPath} ${join(root, 'hub', 'main.ts')} serve --port 0 --config ${config}`;
  const child = spawn('script', ['-qfec', `stty cols 90 rows 30; exec ${hub}`, '/dev/null'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      TERM: 'xterm-256color',
      DATA_DIR: folder,
      ...env,
    },
  });
  const emulator = createEmulator(90, 30);
  let raw = '';
  child.stdout.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
    if (env['LOG_FORMAT'] === undefined) emulator.write(chunk.toString());
  });
  return {
    text: emulator.text,
    raw: () => raw,
    /** Presses Ctrl-C, and resolves with the exit code. */
    async interrupt(): Promise<unknown> {
      child.stdin.write('\u0003');
      const [code] = await once(child, 'exit');
      return code;
    },
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }),
  };
}

test('a terminal shows addresses, servers and the next step, and a clean end after Ctrl-C', async () => {
  await using terminal = await openTerminal();
  await until(
    () => /failed/.test(terminal.text()) && /3 tools/.test(terminal.text()),
    terminal.text,
  );
  const shown = terminal.text();
  assert.match(shown, /AgentHub \d\S+ {2}ready in \d/);
  assert.match(shown, /MCP {8}http:\/\/localhost:\d+\/mcp\n/);
  assert.match(shown, /Dashboard {2}http:\/\/localhost:\d+\/dashboard\/login\?code=/);
  assert.match(shown, /Config {5}\S+hub\.json, watched/);
  assert.match(shown, /● calendar {2}running {6}3 tools\n/);
  assert.match(shown, /✖ broken {4}failed {7}\S.*\n {14}npx agenthub logs broken\n/);
  assert.match(shown, /Next: npx agenthub connect/);
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
