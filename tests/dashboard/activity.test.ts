import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { textOf } from '#dashboard';
import { connect } from '#helpers/client';
import { type TestHub, startHub } from '#helpers/hub';
import { outcomeBadge } from '../../hub/dashboard/activity.ts';
import { owner, visitor } from './scene.ts';

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([{ name: 'calendar' }, { name: 'notes', file: 'stateful.mjs' }]);
  page = owner(hub);
  await using client = await connect(`${hub.url}/mcp`);
  await client.call('calendar_create_event', { title: 'Tea', room: 'Kitchen' });
  await client.call('calendar_cancel_event', { title: 'Tea' });
  await client.call('notes_remember', { text: 'a note' });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const newest = (filter: object = {}) => hub.activity.list(filter, 1)[0]?.id ?? assert.fail();

describe('the activity', () => {
  const callsIn = (text: string) => [...text.matchAll(/id="call-\d+"/g)].length;

  test('is filtered by server, client, tool, outcome and text', async () => {
    const rows = [
      ['server=notes', /notes_remember/, /calendar_/],
      ['client=agenthub-tests+1.0.0&server=calendar', /calendar_create_event/, /notes_/],
      ['tool=notes_remember', /notes_remember/, /calendar_/],
      ['outcome=tool_error', /calendar_cancel_event/, /notes_remember/],
      ['text=REMEMBER', /notes_remember/, /calendar_/],
    ] as const;
    for (const [query, found, missing] of rows)
      for (const path of ['activity', 'activity-partial']) {
        const { text } = await page.get(`/dashboard/${path}?${query}`);
        const [, list = text] = /<div id="calls"([\s\S]*)/.exec(text) ?? [];
        assert.match(list, found, query);
        assert.doesNotMatch(list, missing, query);
      }
    const { text } = await page.get('/dashboard/activity?text=nothing-is-like-this');
    assert.match(text, /No call matches the filter\./);
  });

  test('keeps the filter in its form, in its live part and in the URL', async () => {
    const { text } = await page.get('/dashboard/activity?server=notes&text=rem');
    assert.match(text, /<option selected>notes<\/option>/);
    assert.match(text, /name="text"[^>]* value="rem"/);
    assert.match(text, /hx-get="\/dashboard\/activity-partial\?server=notes&amp;text=rem"/);
    const { headers } = await page.get('/dashboard/activity-partial?server=notes&text=&outcome=', {
      'hx-request': 'true',
    });
    assert.equal(headers['hx-replace-url'], '/dashboard/activity?server=notes');
  });

  test('is read page by page, and only the first page is live', async () => {
    await using client = await connect(`${hub.url}/mcp/notes`);
    for (let at = 0; at < 60; at++) await client.call('remember', { text: `${at}` });
    const { text: first } = await page.get('/dashboard/activity?server=notes');
    assert.equal(callsIn(first), 50);
    const [, older = ''] = /href="([^"]*before=\d+)">Older/.exec(first) ?? [];
    const { text: second } = await page.get(older.replaceAll('&amp;', '&'));
    assert.ok(callsIn(second) >= 10);
    assert.match(second, />Newest</);
    assert.doesNotMatch(second, /id="calls" hx-get/);
  });

  test('has a page for each call, with its request and its response', async () => {
    const { text } = await page.get(`/dashboard/activity/${newest({ tool: 'notes_remember' })}`);
    assert.match(text, /aria-label="Request">[\s\S]*a note/);
    assert.match(text, /aria-label="Answer">[\s\S]*result/);
    assert.match(text, /hub [\d.]+ ms[\s\S]*server [\d.]+ ms/);
  });
});

test('the name of a tool cannot reverse the text beside it', async () => {
  await using client = await connect(`${hub.url}/mcp/notes`);
  await client.call('a\u202eb').catch(() => undefined); // There is no such tool.
  const { text } = await page.get('/dashboard/activity');
  assert.match(text, />a&lt;U\+202E&gt;b<\/a>/);
  const call = await page.get(`/dashboard/activity/${hub.activity.lastId}`);
  assert.match(call.text, /<h1>a&lt;U\+202E&gt;b<\/h1>/);
});

test('a badge shows the code of an error, whatever a server calls it', () => {
  for (const code of ['constructor', 'toString'])
    assert.match(textOf(outcomeBadge(code)), /badge bad/);
});
