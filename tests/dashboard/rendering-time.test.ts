import assert from 'node:assert/strict';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { startHub } from '#helpers/hub';
import { owner } from './scene.ts';

const serverCount = 50;
const callCount = 10_000;
/** Number of open sessions, whose calls newer ones have replaced. */
const sessionCount = 200;
/** Maximum time of the hub for a page, in ms. */
const maxMs = 100;
/** Number of loads of a page. The quickest counts, because other programs use the machine too. */
const loads = 3;

test(`pages of ${serverCount} servers, ${callCount} calls and ${sessionCount} sessions take less than ${maxMs} ms each, and stay short`, async () => {
  const names = Array.from({ length: serverCount }, (_, at) => `server-${at}`);
  const fixtures = names.map(name => ({ name, file: 'echo.mjs', autoStart: false }));
  const streamable = { maxSessions: sessionCount };
  await using hub = await startHub(fixtures, { start: false, streamable });
  await using opened = new AsyncDisposableStack();
  for (let at = 0; at < sessionCount; at++) opened.use(await connect(`${hub.url}/mcp`));
  const message = Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, params: { text: 'x'.repeat(500), list: [1, 2, 3] } }),
  );
  for (let at = 0; at < callCount; at++)
    hub.activity.record({
      at: Date.now() - at,
      method: 'tools/call',
      name: `server-${at % serverCount}_tool_${at % 7}`,
      server: `server-${at % serverCount}`,
      session: `earlier-${at % 20}`,
      client: `client-${at % 5} 1.0`,
      tookMs: at % 300,
      serverMs: at % 250,
      outcome: at % 9 === 0 ? 'error' : 'ok',
      request: message,
      reply: message,
    });
  const slow: string[] = [];
  for (const path of [
    '/dashboard',
    '/dashboard/health-partial',
    '/dashboard/stats-partial',
    '/dashboard/activity-partial',
    '/dashboard/activity',
    '/dashboard/activity?server=server-7&outcome=error',
    '/dashboard/activity?text=nothing+like+this',
    '/dashboard/activity?before=120',
    `/dashboard/activity/${callCount}`,
    '/dashboard/servers/server-7',
    '/dashboard/sessions',
  ]) {
    let quickest = Infinity;
    for (let load = 0; load < loads; load++) {
      const { status, headers, text } = await owner(hub).get(path);
      assert.equal(status, 200, path);
      assert.ok(text.length < 100_000, `${path} has ${text.length} characters`);
      quickest = Math.min(
        quickest,
        Number(/dur=([\d.]+)/.exec(String(headers['server-timing']))?.[1]),
      );
    }
    if (!(quickest < maxMs)) slow.push(`${path} took ${quickest} ms`);
  }
  assert.deepEqual(slow, []);
});
