import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { textOf } from '#dashboard';
import { connect } from '#helpers/client';
import { startHub } from '#helpers/hub';
import type { Router } from '#routing';
import { sessionPages } from '../../hub/dashboard/sessions.ts';
import { requestOf } from './request.ts';
import { owner } from './scene.ts';

test('a session is listed with its client while it is open, with a link to its calls', async () => {
  await using hub = await startHub([{ name: 'notes', file: 'stateful.mjs' }]);
  const page = owner(hub);
  await using _ = await connect(`${hub.url}/mcp/notes`);
  const { text } = await page.get('/dashboard/sessions');
  const [row = ''] = /<tr role="row"><th role="rowheader"[\s\S]*?<\/tr>/.exec(text) ?? [];
  assert.match(row, /agenthub-tests 1\.0\.0/);
  assert.match(row, /data-title="Over">http</);
  assert.match(row, /data-title="Sees"><a href="\/dashboard\/servers\/notes"/);
  const [, link = ''] = /href="(\/dashboard\/activity\?session=\d+)"/.exec(row) ?? [];
  assert.match((await page.get(link)).text, /initialize/);
});

describe('the list of sessions', () => {
  type Open = ReturnType<Router['sessions']>[number];
  const sessionOf = (id: number): Open => ({
    id: String(id),
    client: 'notes 1.0',
    over: 'http',
    server: undefined,
    protocolVersion: '2025-11-25',
    openedAt: 0,
    inFlight: 0,
  });

  /** Returns the list, 90 s after the sessions were opened. The last request of session 1 was 30 s ago. */
  async function shown(...sessions: readonly Open[]): Promise<string> {
    const { sessionsPartial } = sessionPages({
      router: { sessions: () => sessions },
      telemetry: {
        activity: { lastBySession: () => new Map([['1', 60_000]]) },
      },
      system: { clock: { now: () => 90_000 } },
    });
    const answer = await sessionsPartial(requestOf());
    return 'part' in answer ? textOf(answer.part) : assert.fail('no part');
  }

  const cellsOf = (text: string, title: string) =>
    Array.from(
      text.matchAll(new RegExp(`data-title="${title}"[^>]*>([^<]*)<`, 'g')),
      ([, cell]) => cell,
    );

  test('says when each was opened and last used', async () => {
    const text = await shown(sessionOf(1), sessionOf(2));
    assert.deepEqual(cellsOf(text, 'Opened'), ['1 min ago', '1 min ago']);
    assert.deepEqual(cellsOf(text, 'Last request'), ['30 s ago', 'none yet']);
    assert.deepEqual(cellsOf(text, 'Sees'), ['all servers', 'all servers']);
  });

  test('escapes the name that a client gives itself', async () => {
    const text = await shown({ ...sessionOf(1), client: '<b>' });
    assert.match(text, />&lt;b&gt;<\/a>/);
  });

  test('shows two hundred, and the total', async () => {
    const some = (count: number) => Array.from({ length: count }, (_, at) => sessionOf(at));
    const all = await shown(...some(200));
    assert.equal(cellsOf(all, 'Over').length, 200);
    assert.doesNotMatch(all, /The newest/);
    const many = await shown(...some(201));
    assert.equal(cellsOf(many, 'Over').length, 200);
    assert.match(many, /The newest 200 of 201\./);
  });

  test('shows how to connect if no client is connected', async () => {
    assert.match(await shown(), /No client is connected\.[^]*http:\/\/localhost:9090\/mcp/);
  });
});
