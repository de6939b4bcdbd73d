import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { type TestHub, startHub } from '#helpers/hub';

describeWithBrowser('the form of a tool', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'calendar' }, { name: 'studio' }, { name: 'asker' }]);
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  const look = async (see: (page: Page) => Promise<void>) => {
    // The browser of the tests reaches no host but localhost.
    const baseURL = hub.url.replace('127.0.0.1', 'localhost');
    await visit({ baseURL, extraHTTPHeaders: hub.ownerHeaders }, see);
  };
  const resultOn = (page: Page) => page.getByRole('region', { name: 'Text', exact: true });
  const event = '/dashboard/servers/calendar/tool?name=create_event';

  test('takes arguments as JSON, while its required fields are empty', async () => {
    await look(async page => {
      await page.goto(event);
      await page.getByText('Write the arguments as JSON instead').click();
      const json = page.getByLabel('Arguments as JSON');
      const call = page.getByRole('button', { name: 'Call create_event' });
      await json.fill('{"title": "Tea", "room": "Library"}');
      await call.click();
      assert.match(await resultOn(page).innerText(), /"title": "Tea"/);
      await json.fill('');
      const calls = hub.activity.lastId;
      await call.click();
      assert.equal(
        await page.evaluate('document.activeElement.id'),
        'arg.title',
        'the browser asks for the field',
      );
      assert.equal(hub.activity.lastId, calls);
    });
  });

  test('tells screen readers that a command was copied, and reloads without the last message', async () => {
    await look(async page => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.goto('/dashboard/servers/calendar?done=start&about=calendar&tab=log');
      await page.getByText('Starting calendar').waitFor();
      assert.match(page.url(), /\/dashboard\/servers\/calendar\?tab=log$/);
      await page.reload();
      await page.getByRole('heading', { level: 1 }).waitFor();
      assert.equal(await page.locator('#notice').innerText(), '');
      await page.goto(event);
      await page.getByText('Write the arguments as JSON instead').click();
      await page.getByLabel('Arguments as JSON').fill('{"title": "Tea", "room": "Library"}');
      await page.getByRole('button', { name: 'Call create_event' }).click();
      await page.getByText('Copy as curl or command').click();
      await page.getByRole('button', { name: 'Copy curl' }).click();
      await page
        .getByRole('status')
        .filter({ hasText: /^Copied$/ })
        .waitFor({ state: 'attached' });
    });
  });

  test('calls the tool by the key Enter, also where a button adds items before', async () => {
    await look(async page => {
      await page.goto('/dashboard/servers/studio/tool?name=order');
      const name = page.getByRole('group', { name: 'customer' }).getByLabel(/^name/);
      await name.fill('Ada');
      await name.press('Enter');
      assert.match(await resultOn(page).innerText(), /"name": "Ada"/);
      assert.equal(await page.getByRole('group', { name: /^items \d/ }).count(), 0);
    });
  });

  test('shows the arguments of an earlier call with their line breaks', async () => {
    await look(async page => {
      const title = '\nselect 1 -- one\nfrom b';
      await page.goto(event);
      await page.getByText('Write the arguments as JSON instead').click();
      await page.getByLabel('Arguments as JSON').fill(JSON.stringify({ title, room: 'Kitchen' }));
      await page.getByRole('button', { name: 'Call create_event' }).click();
      await resultOn(page).waitFor();
      await page.goto(`${event}&from=${hub.activity.lastId}`);
      assert.equal(await page.getByLabel(/^title/).inputValue(), title);
      await page.getByRole('button', { name: 'Call create_event' }).click();
      assert.equal(JSON.parse(await resultOn(page).innerText()).title, title);
    });
  });

  test('keeps the labels of a question apart from its own', async () => {
    // No fields can be derived from this schema.
    const params = { mode: 'form', message: 'which?', requestedSchema: { allOf: [] } };
    await look(async page => {
      await page.goto('/dashboard/servers/asker/tool?name=ask-all');
      const asked = JSON.stringify({ requests: [{ method: 'elicitation/create', params }] });
      await page.getByText('Write the arguments as JSON instead').click();
      await page.getByLabel('Arguments as JSON').fill(asked);
      await page.getByRole('button', { name: 'Call ask-all' }).click();
      await page.getByLabel('Answer as JSON').fill('{"these": 1}');
      await page.getByRole('button', { name: 'Send' }).click();
      assert.match(await resultOn(page).innerText(), /"these": 1/);
    });
  });
});
