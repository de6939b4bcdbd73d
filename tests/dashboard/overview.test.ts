import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { type TestHub, startHub } from '#helpers/hub';
import { owner, visitor } from './scene.ts';

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([
    { name: 'calendar' },
    { name: 'idle', file: 'echo.mjs', autoStart: false },
    { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    { name: 'off', file: 'echo.mjs', enabled: false, autoStart: false },
  ]);
  page = owner(hub);
  await using client = await connect(`${hub.url}/mcp`);
  await client.call('calendar_create_event', { title: 'Tea', room: 'Kitchen' });
  await client.call('calendar_cancel_event', { title: 'Tea' });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

describe('the overview', () => {
  test('shows each server with its state, and why it does not run', async () => {
    const { text } = await page.get('/dashboard');
    const rows = [...text.matchAll(/<tr role="row"><th role="rowheader"[\s\S]*?<\/tr>/g)].map(
      String,
    );
    const rowOf = (name: string) => rows.find(row => row.includes(`/servers/${name}"`)) ?? '';
    assert.match(rowOf('calendar'), /badge good">running/);
    assert.match(rowOf('broken'), /badge bad">failed[\s\S]*API_KEY is not set/);
    assert.match(rowOf('idle'), /badge idle">on demand[\s\S]*actions\/start\/idle/);
    assert.match(rowOf('off'), /badge idle">disabled/);
    assert.doesNotMatch(rowOf('off'), /<button/);
  });

  test('begins with the problems: their cause, the log and a restart', async () => {
    const { text } = await page.get('/dashboard');
    const [, problems = ''] =
      /badge warn">Degraded<[^]*<ul class="problems">([^]*?)<\/ul>/.exec(text) ?? [];
    assert.match(problems, /servers\/broken"><strong>broken<[^]*badge bad">failed</);
    assert.match(problems, /href="\/dashboard\/servers\/broken\?tab=log">Show log</);
    assert.match(problems, /action="\/dashboard\/actions\/start\/broken"[^]*Retry</);
    assert.match(problems, /API_KEY is not set/);
    assert.doesNotMatch(problems, /idle|calendar/);
    assert.ok(text.indexOf('class="problems"') < text.indexOf('<h2 id="servers"'));
  });

  test('shows the calls of each server, the share that failed, and how long they took', async () => {
    const { text } = await page.get('/dashboard');
    const [row = ''] =
      /<tr role="row"><th[^>]*><a href="\/dashboard\/servers\/calendar"[^]*?<\/tr>/.exec(text) ??
      [];
    assert.match(row, /data-title="Calls" class="number">2</);
    assert.match(row, /title="0 failed, 1 reported an error">50 %</);
    assert.match(row, /data-title="p95" class="number">[\d.]+ ms</);
  });

  test('keeps each action of a server in the same column, whatever its state', async () => {
    const { text } = await page.get('/dashboard');
    const stateOf = (id: string) =>
      new RegExp(`<button class="icon[^>]* id="${id}"[^>]*>`).exec(text)?.[0] ?? '';
    for (const action of ['stop', 'restart']) {
      assert.match(stateOf(`${action}-calendar`), / hx-post=/);
      assert.match(stateOf(`${action}-idle`), / disabled>/);
    }
    assert.match(stateOf('start-calendar'), / disabled>/);
    assert.match(stateOf('start-idle'), / hx-post=/);
  });

  test('shows the parts, the charts and the last calls', async () => {
    const { text } = await page.get('/dashboard');
    for (const part of ['Container engine', 'Config', 'Circuit breakers'])
      assert.match(text, new RegExp(part));
    assert.match(text, /aria-label="Calls per 10 s: \d+ calls/);
    assert.match(text, /aria-label="Call duration: lately [\d.]+ ms/);
    assert.match(text, /calendar_cancel_event[\s\S]*badge warn">tool error/);
  });

  test('tells the user what to do if there are no servers or calls', async () => {
    await using bare = await startHub([]);
    const { text } = await owner(bare).get('/dashboard');
    assert.match(text, /No servers yet\.[\s\S]*href="\/dashboard\/install"/);
    assert.match(text, /No calls yet\.[\s\S]*http:\/\/127\.0\.0\.1:\d+\/mcp/);
    const { text: sessions } = await owner(bare).get('/dashboard/sessions');
    assert.match(sessions, /No client is connected\./);
    for (const page of [text, sessions])
      assert.match(page, /<a id="connect-first" href="\/dashboard\/connect">Connect a client<\/a>/);
  });
});
