import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { freePort } from '#helpers/port';
import { createLogs } from '#logs';
import { fieldOf, jsonOf, withHub } from '../hub.ts';
import { type Outcome, run } from '../run.ts';

const scene = withHub();
const { cli } = scene;

const cancel = async (title: string) =>
  await cli(['call', 'calendar_cancel_event', `title=${title}`]);
const lineOf = (title: string) => `cancel_event: {"title":"${title}"}`;

async function restart(hub: TestHub, name: string): Promise<void> {
  await hub.server(name).stop(false);
  hub.server(name).start();
  await hub.server(name).ready();
}

describe('logs', () => {
  test('are the last lines that a server wrote', async () => {
    await cli(['call', 'calendar_list_events']);
    await cancel('x');
    assert.deepEqual(await cli(['logs', 'calendar', '-n', '1']), {
      code: 0,
      out: lineOf('x'),
      err: '',
    });
    const answer = jsonOf((await cli(['logs', 'calendar', '--json', '-n', '2'])).out);
    assert.equal(fieldOf(answer, 'name'), 'calendar');
    assert.deepEqual(fieldOf(answer, 'lines'), ['list_events: {}', lineOf('x')]);
  });

  test('of all servers have the names in front, and times if wanted', async () => {
    await cancel('mine');
    const { out } = await cli(['logs', '-t', '-n', '1']);
    assert.match(out, /^\d{4}-\S+Z calendar \| cancel_event: \{"title":"mine"\}$/);
  });

  test('--previous shows the previous run, with its exit', async () => {
    await cancel('before');
    await restart(scene.hub, 'calendar');
    const { out, err } = await cli(['logs', 'calendar']);
    assert.equal(out, '');
    assert.equal(err, 'calendar has written nothing since its latest start');
    const before = await cli(['logs', 'calendar', '--previous', '-n', '2']);
    assert.match(before.out, /^cancel_event: \{"title":"before"\}\n# ended: \S+/);
    const none = await cli(['logs', 'echo', '--previous']);
    assert.deepEqual([none.out, none.err], ['', 'there is no earlier run of echo']);
  });

  test('are those of the hub with --hub, or with "hub" if no server is called so', async () => {
    const calls = [
      ['logs', '--hub'],
      ['logs', 'hub'],
    ];
    for (const args of calls) {
      const { code, err } = await cli(args);
      assert.equal(code, 0);
      assert.equal(err, 'the hub has written nothing since its latest start');
    }
    const both = await cli(['logs', 'calendar', '--hub', '--previous', '-n', '1']);
    assert.match(both.out, /^calendar \| # ended/);
  });

  test('-f continues until it is interrupted, and exits with 0', async () => {
    await cancel('early');
    const ending = new AbortController();
    let calls = 0;
    const { code, out } = await cli(['logs', 'calendar', '-f', '-n', '1'], {
      signal: ending.signal,
      onOut(text) {
        if (calls++ === 0) void cancel('later');
        if (text.includes('later')) ending.abort();
      },
    });
    assert.equal(code, 0);
    assert.equal(out, `${lineOf('early')}\n${lineOf('later')}`);
  });

  test('-f continues over a restart of the server, and says so', async () => {
    const ending = new AbortController();
    let calls = 0;
    const { out } = await cli(['logs', 'calendar', '-f', '-n', '1'], {
      signal: ending.signal,
      onOut(text) {
        if (calls++ === 0) void restart(scene.hub, 'calendar').then(() => cancel('again'));
        if (text.includes('again')) ending.abort();
      },
    });
    assert.match(out, /\n# ended.*\n# starting\ncancel_event: \{"title":"again"\}$/);
  });

  test('-f ends when its output is closed', async () => {
    await cancel('unread');
    const { code } = await cli(['logs', 'calendar', '-f'], {
      signal: new AbortController().signal,
      onOut: (_text, stdout) => void stdout.emit('error', new Error('EPIPE')),
    });
    assert.equal(code, 0);
  });

  test.for([
    [['logs', 'calender'], 1, /Did you mean "calendar"\?$/],
    [['logs', 'calendar', '-n', 'x'], 2, /^--lines: "x" is not allowed: write a number from 0/],
    [['logs', '-f', '-p'], 2, /^--previous: that run is over/],
  ] as const)('%j exits with %i', async ([args, expected, message]) => {
    const { code, err } = await cli(args);
    assert.equal(code, expected);
    assert.match(err, message);
  });
});

test('-f waits for a hub that has stopped, and continues with the next one', async () => {
  const fixtures = [{ name: 'calendar' }];
  let hub = await startHub(fixtures);
  const ending = new AbortController();
  const call = async (title: string) =>
    await run(['call', 'calendar_cancel_event', `title=${title}`], {
      findHub: async () => hub.place,
    });
  await call('first');
  let out = '';
  const following = run(
    ['logs', 'calendar', '-f'],
    { findHub: async () => hub.place },
    { signal: ending.signal, onOut: text => void (out = text) },
  );
  await until(() => out.includes('first'));
  await hub[Symbol.asyncDispose]();
  hub = await startHub(fixtures);
  await call('second');
  await until(() => out.includes('second'));
  ending.abort();
  const { code, err } = await following;
  assert.equal(code, 0);
  assert.equal(err, 'the hub has stopped. Waiting for it, until Ctrl-C');
  await hub[Symbol.asyncDispose]();
});

test('"hub" shows the lines of a server of that name', async () => {
  await using hub = await startHub([{ name: 'hub', file: 'calendar.mjs' }]);
  const findHub = async () => hub.place;
  await run(['call', 'hub_cancel_event', 'title=x'], { findHub });
  const { out } = await run(['logs', 'hub'], { findHub });
  assert.equal(out, lineOf('x'));
});

describe('without a hub', () => {
  /** Runs a test on the data folder of a hub that has stopped. */
  async function stopped(body: (logs: (...args: string[]) => Promise<Outcome>) => Promise<void>) {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-logs-cli-'));
    try {
      const clock = createManualClock();
      const warn = (error: unknown) => assert.fail(String(error));
      const stored = createLogs(join(dataDir, 'logs'), { clock, redact: text => text, warn });
      stored.hub.add({ text: 'AgentHub listens', level: 'info' });
      const memory = stored.server('memory');
      memory.begin();
      memory.add({ text: 'before' });
      memory.end('exited with code 1');
      memory.begin();
      memory.add({ text: 'building', isHubs: true });
      memory.add({ text: 'after' });
      await stored.stop();
      const findHub = async () => ({
        url: `http://127.0.0.1:${await freePort()}`,
        token: undefined,
      });
      const findDataFolders = async () => [dataDir];
      await body(async (...args) => await run(['logs', ...args], { findHub, findDataFolders }));
    } finally {
      await rm(dataDir, { recursive: true });
    }
  }

  test('are read from the data folder, and the command says so', () =>
    stopped(async logs => {
      const { code, out, err } = await logs('memory');
      assert.equal(out, '# building\nafter');
      assert.match(err, /^no hub runs here: the lines are those in \/.*\/logs$/);
      assert.equal(code, 0);
      assert.equal((await logs('memory', '-p')).out, 'before\n# ended: exited with code 1');
      assert.equal((await logs('memory', '-n', '1')).out, 'after');
      assert.match((await logs('--hub')).out, /^AgentHub listens\n# ended/);
      assert.equal((await logs()).out, 'memory | # building\nmemory | after');
      const { lines } = JSON.parse((await logs('memory', '--json')).out);
      assert.deepEqual(lines, ['after']);
    }));

  test('of an unknown server, or of a hub at an address, are refused', () =>
    stopped(async logs => {
      const unknown = await logs('../hub');
      assert.equal(unknown.code, 1);
      assert.match(unknown.err, /no log of the server "\.\.\/hub" is stored. Stored are memory$/);
      for (const args of [
        ['memory', '-f'],
        ['memory', '--url', `http://127.0.0.1:${await freePort()}`],
      ])
        assert.match((await logs(...args)).err, /no hub answers/);
    }));

  test('that do not exist fail with the folder where they were looked for', async () => {
    const findHub = async () => ({ url: `http://127.0.0.1:${await freePort()}`, token: undefined });
    const { code, err } = await run(['logs'], {
      findHub,
      findDataFolders: async () => ['/absent'],
    });
    assert.equal(code, 1);
    assert.match(err, /there is no log of an earlier run in \/absent\/logs. Start the hub/);
  });
});
