import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { connect } from '#helpers/client';
import { type TestHub, startHub } from '#helpers/hub';
import { owner, visitor } from './scene.ts';

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([{ name: 'calendar' }]);
  page = owner(hub);
  await using client = await connect(`${hub.url}/mcp`);
  await client.call('calendar_cancel_event', { title: 'Tea' });
});
afterAll(() => hub[Symbol.asyncDispose]());

test('the page of a server shows what it offers, its log, its config in the words of the file, and that it has no sandbox', async () => {
  const { text } = await page.get('/dashboard/servers/calendar');
  assert.match(text, /tool\?name=create_event/);
  assert.match(text, /cancel_event: \{/);
  assert.match(text, /&quot;max_restarts&quot;: 3/);
  assert.match(text, /without a sandbox/);
  assert.match(text, /actions\/stop\/calendar[\s\S]*actions\/restart\/calendar/);
});
