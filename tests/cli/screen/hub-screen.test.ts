import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'vitest';
import { createIo } from '#cli';
import { createEmitter } from '#core';
import type { ServerStatus } from '#servers';
import { createManualClock } from '#helpers/clock';
import { createHubScreen } from '../../../hub/cli/screen/hub-screen.ts';
import type { WatchedServer } from '../../../hub/cli/screen/server-line.ts';
import { configOf } from '../../helpers/hub.ts';
import { createEmulator } from './emulator.ts';

const bare = { paint: (_style: string, text: string) => text };
/** Terminal on which the hub draws its screen. */
const stdout = Object.assign(new PassThrough(), { isTTY: true });
const { foreign } = createIo(
  { stdin: new PassThrough(), stdout, stderr: stdout },
  new AbortController().signal,
  createManualClock(),
).screen;

function createTestServer(name: string, first: ServerStatus) {
  const changed = createEmitter<ServerStatus>();
  const state = { status: first, restarts: 0, tools: 0, line: undefined as string | undefined };
  const server: WatchedServer = {
    config: configOf({ name, file: 'echo.mjs' }),
    changed: changed.event,
    listed: createEmitter<'tool'>().event,
    get status() {
      return state.status;
    },
    get restarts() {
      return state.restarts;
    },
    get listing() {
      const item = { key: 'a', name: 'a', bytes: Buffer.alloc(0) };
      return {
        tool: Array.from({ length: state.tools }, () => item),
        resource: [],
        template: [],
        prompt: [],
      };
    },
    get lastError() {
      const { line } = state;
      return line === undefined ? undefined : { at: 0, message: line, line, stderr: '' };
    },
  };
  return {
    server,
    state,
    set(status: ServerStatus): void {
      state.status = status;
      changed.fire(status);
    },
  };
}

function createScene(names: readonly string[], { columns = 80, rows = 24 } = {}) {
  const clock = createManualClock();
  const emulator = createEmulator(columns, rows);
  const servers = names.map(name => createTestServer(name, { state: 'stopped', byHand: false }));
  const screen = createHubScreen(
    { version: '1.2.3', isVerbose: false, elapsedMs: () => clock.monotonic() },
    { columns, rows, write: async text => emulator.write(text) },
    { ...bare, foreign, isTerminal: true, columns },
    clock,
  );
  const text = async () => {
    await new Promise(resolve => setImmediate(resolve));
    return emulator.text();
  };
  const watch = () =>
    screen.watch({
      all: servers.map(({ server }) => server),
      changed: createEmitter<unknown>().event,
    });
  const ready = () =>
    screen.ready({ facts: [['MCP', 'http://localhost:9090/mcp']], next: 'Next: connect' });
  return { clock, screen, servers, text, watch, ready };
}

const stderr = (server: string, line: string) =>
  JSON.stringify({ level: 'info', time: 'now', server, stderr: line, msg: 'stderr' });

describe('the screen of a hub', () => {
  test('shows that the hub starts, its addresses, and a line for each server', async () => {
    const { clock, servers, text, watch, ready } = createScene(['memory', 'brave', 'time']);
    assert.equal(await text(), '\n\n  AgentHub 1.2.3 is starting, 0 s\n');
    clock.advance(2_000);
    watch();
    ready();
    const [memory, brave] = servers;
    brave?.set({
      state: 'starting',
      since: clock.now(),
      progress: 'building an image with x, once',
    });
    clock.advance(61_000);
    brave?.set({ state: 'starting', since: clock.now() - 61_000, progress: 'added 93 packages' });
    if (memory) memory.state.tools = 9;
    memory?.set({ state: 'running', since: 0 });
    assert.equal(
      await text(),
      `

  AgentHub 1.2.3  ready in 2 s

  MCP  http://localhost:9090/mcp


  ● memory  running      9 tools
  ◌ brave   building     1 min 1 s  added 93 packages
  ○ time    on demand    starts with its first call

  Next: connect
`.slice(1),
    );
  });

  test('wraps texts between words on a narrow terminal, but not commands and addresses', async () => {
    const { screen, text, watch } = createScene(['memory'], { columns: 60 });
    watch();
    screen.log(JSON.stringify({ level: 'warn', msg: `it is late ${'because '.repeat(8).trim()}` }));
    const link = `http://localhost:9090/dashboard/login?code=${'x'.repeat(43)}`;
    screen.ready({
      facts: [
        ['Dashboard', `${link}\nworks once, for ten minutes; "npx agenthub open" gives another`],
        ['Sandbox', 'a container for each server, Docker Engine at unix:///var/run/docker.sock'],
        ['On PATH', 'by ln -sf /srv/agenthub/bin/agenthub.mjs /usr/local/bin/agenthub', 'command'],
      ],
      next: 'Next: npx agenthub connect claude-code (or another client). Ctrl-C stops AgentHub',
    });
    const onScreen = (line: string) => [line.slice(0, 60), line.slice(60)].join('\n');
    assert.equal(
      await text(),
      `
hub    | it is late because because because because because
       | because because because

  AgentHub 1.2.3  ready in 0 ms

${onScreen(`  Dashboard  ${link}`)}
             works once, for ten minutes;
             "npx agenthub open" gives another
  Sandbox    a container for each server, Docker Engine at
             unix:///var/run/docker.sock
${onScreen('  On PATH    by ln -sf /srv/agenthub/bin/agenthub.mjs /usr/local/bin/agenthub')}


  ○ memory  on demand    starts with its first call

  Next: npx agenthub connect claude-code (or another
  client). Ctrl-C stops AgentHub
`.slice(1),
    );
  });

  test('shows why a server failed and the command for details, and folds repetitions', async () => {
    const { screen, servers, text, watch, ready, clock } = createScene(['brave']);
    watch();
    ready();
    const [brave] = servers;
    for (let run = 0; run < 3; run++) {
      brave?.set({ state: 'starting', since: clock.now(), progress: 'launching' });
      screen.log(stderr('brave', `run ${run} began`));
      screen.log(stderr('brave', 'Error: KEY is required'));
      brave?.set({ state: 'backing_off', until: 0, due: 0, why: 'brave is gone: exit code 1' });
    }
    if (brave) brave.state.line = 'Error: KEY is required';
    brave?.set({ state: 'failed', since: 0, why: 'gave up' });
    const shown = await text();
    assert.equal(shown.match(/brave \| Error: KEY/g)?.length, 1, shown);
    assert.match(shown, /brave \| 4 lines are not repeated: they came in an earlier run, too/);
    assert.match(
      shown,
      /✖ brave {2}failed {7}Error: KEY is required\n {11}npx agenthub logs brave\n/,
    );
  });

  test('never writes the control characters of servers', async () => {
    const { screen, text, watch } = createScene(['evil\u001b[2J']);
    watch();
    // The emulator fails for every control sequence that the hub itself does not use.
    screen.log(stderr('evil\u001b[2J', '\u001b[2J\u001b]0;title\u0007 gone\r\n\u0008'));
    screen.log(JSON.stringify({ level: 'warn', server: 'evil', msg: 'is \u001b[1;1H bad' }));
    assert.match(await text(), / gone/);
  });

  test('shows warnings and changes of the config, and no other lines of the log', async () => {
    const { screen, text } = createScene([]);
    screen.log(JSON.stringify({ level: 'info', msg: 'AgentHub listens', address: 'x' }));
    screen.log(JSON.stringify({ level: 'warn', msg: 'careful', file: 'a.json' }));
    screen.log(
      JSON.stringify({
        level: 'info',
        msg: 'the config was changed',
        added: ['a', 'b'],
        removed: [],
        keys: ['naming', 'policy'],
      }),
    );
    screen.log('no json');
    const shown = await text();
    assert.doesNotMatch(shown, /listens|json$/m);
    assert.match(
      shown,
      /hub \| careful \(file: a\.json\)\nhub \| the config was applied: added a, b; changed keys naming, policy\n/,
    );
  });

  test('fits many servers into a small terminal, those with problems first', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `a-server-with-a-long-name-${at}`);
    const { servers, text, watch, ready } = createScene(names, { columns: 40, rows: 14 });
    for (const { state } of servers) state.status = { state: 'running', since: 0 };
    const failing = servers[50];
    if (failing)
      failing.state.status = { state: 'failed', since: 0, why: 'it has a reason that is long' };
    watch();
    ready();
    const shown = await text();
    const frame = shown.slice(shown.lastIndexOf('/mcp') + 4);
    assert.match(frame, /✖ a-server-wit….*\n {4}npx agenthub logs a-server-with-a-…\n/);
    assert.match(frame, /… and 5\d running/);
    assert.ok(frame.split('\n').length <= 14, frame);
    for (const line of frame.split('\n')) assert.ok(line.length < 40, line);
  });

  test('leaves a clean last line when it closes', async () => {
    const { screen, servers, text, watch, ready } = createScene(['memory']);
    watch();
    ready();
    screen.stopping();
    servers[0]?.set({ state: 'stopping', since: 0, hasEnded: false });
    assert.match(await text(), /◌ memory {2}stopping\n\n {2}AgentHub is stopping its servers\n$/);
    await screen.close('  AgentHub has stopped.');
    screen.log(stderr('memory', 'late'));
    assert.match(await text(), /\/mcp\n\n {2}AgentHub has stopped\.\n/);
    assert.doesNotMatch(await text(), /●|◌|stopping/);
  });
});
