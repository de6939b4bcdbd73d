import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { leadsTo, owner, visitor } from './scene.ts';

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([
    { name: 'calendar' },
    { name: 'notes', file: 'stateful.mjs' },
    { name: 'off', file: 'echo.mjs', enabled: false, autoStart: false },
  ]);
  page = owner(hub);
});
afterAll(() => hub?.[Symbol.asyncDispose]());

describe('an action of a server', () => {
  test('stops and starts it with forms alone, and shows a notice', async () => {
    const stopped = leadsTo(await page.post('/dashboard/actions/stop/notes'));
    assert.match((await page.get(stopped)).text, /notice good">Stopping notes\./);
    await until(() => hub.server('notes').status.state === 'stopped');
    leadsTo(await page.post('/dashboard/actions/start/notes'));
    await until(() => hub.server('notes').status.state === 'running');
    const before = hub.server('notes').running;
    leadsTo(await page.post('/dashboard/actions/restart/notes'));
    await until(() => {
      const { running } = hub.server('notes');
      return running !== undefined && running !== before;
    });
  });

  test('gives htmx a notice instead of a page', async () => {
    const { status, text } = await page.post(
      '/dashboard/actions/start/calendar',
      {},
      { 'hx-request': 'true' },
    );
    assert.equal(status, 200);
    assert.equal(text, '<p class="notice good">Starting calendar.</p>');
    const refused = await page.post('/dashboard/actions/start/off', {}, { 'hx-request': 'true' });
    assert.deepEqual([refused.status, refused.headers['hx-retarget']], [409, '#notice']);
    assert.match(refused.text, /^<p class="notice bad" role="alert">off is disabled/);
  });

  test('says which lines of the config disable a server', async () => {
    const remedy = /Remove &quot;disabled&quot;: true or &quot;enabled&quot;: false from its entry/;
    assert.match((await page.get('/dashboard/servers/off')).text, remedy);
    assert.match((await page.post('/dashboard/actions/start/off')).text, remedy);
  });

  test('shows no notice that a link made up', async () => {
    const { text } = await page.get('/dashboard?done=remove&about=Call+555-1234+now!');
    assert.match(text, /<div id="notice" role="status"><\/div>/);
  });
});
