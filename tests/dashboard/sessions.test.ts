import assert from 'node:assert/strict';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { startHub } from '#helpers/hub';
import { owner } from './scene.ts';

test('a session is shown with its client while it is open, and leads to its calls', async () => {
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
