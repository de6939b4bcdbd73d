import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { type TestHub, startHub } from '#helpers/hub';
import { connectAs } from './scene.ts';

const waiting = { timeout: 20_000 };

describeWithBrowser('updates of a page', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'calendar' }, { name: 'notes', file: 'stateful.mjs' }]);
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  const look = async (see: (page: Page) => Promise<void>) => {
    // The browser of the tests reaches no host but localhost.
    const baseURL = hub.url.replace('127.0.0.1', 'localhost');
    await visit({ baseURL, extraHTTPHeaders: hub.ownerHeaders }, see);
  };
  const openLive = async (page: Page, path: string) => {
    await page.goto(path);
    await page.getByText('Live', { exact: true }).waitFor();
  };
  const call = async (tool: string) => {
    await using client = await connectAs(hub, 'codex', '1.0.0');
    await client.call(tool);
  };
  /** Updates a part of the page, and resolves when its request is answered. */
  const update = async (page: Page, part: string, path: RegExp) => {
    const answered = page.waitForResponse(path);
    await page.evaluate(`htmx.trigger(document.body, '${part}')`);
    await (await answered).finished();
  };

  test('go on after a press that opened a context menu', async () => {
    await look(async page => {
      await openLive(page, '/dashboard/activity');
      await page.getByRole('link', { name: 'Overview' }).hover();
      // No release follows: the menu takes it.
      await page.mouse.down({ button: 'right' });
      await call('calendar_list_events');
      await page.getByRole('main').getByRole('link', { name: 'calendar_list_events' }).waitFor();
    });
  });

  test('wait while the space bar presses a button', async () => {
    await look(async page => {
      await openLive(page, '/dashboard/servers/notes');
      const before = hub.server('notes').running?.instance;
      await page.getByRole('button', { name: 'Restart notes' }).focus();
      await page.keyboard.down('Space');
      await hub.server('notes').stop(false);
      await update(page, 'server', /state-partial/);
      hub.server('notes').start();
      await page.keyboard.up('Space');
      await page.getByText('Restarting notes.').waitFor();
      await expect.poll(() => hub.server('notes').status.state, waiting).toBe('running');
      assert.notEqual(hub.server('notes').running?.instance, before);
    });
  });

  const ofFilter = /activity-partial\?.*server=notes/;
  const ofUpdate = /activity-partial\?kind=all$/;
  test.each([
    ['earlier', ofFilter],
    ['later', ofUpdate],
  ])('of a list that are answered %s than a filter do not undo it', async (_, slow) => {
    await call('notes_recall');
    await look(async page => {
      await openLive(page, '/dashboard/activity?kind=all');
      await page.route(slow, async route => {
        await delay(1_500);
        await route.continue();
      });
      const rows = page.getByRole('main').locator('tbody tr');
      const isFiltered = async () => {
        const texts = await rows.allInnerTexts();
        return texts.length > 0 && texts.every(text => /notes/.test(text));
      };
      const begin = async () => await page.evaluate("htmx.trigger(document.body, 'activity')");
      // The list changes, so that its update replaces it.
      await call('calendar_list_events');
      if (slow === ofUpdate) await begin();
      const asked = page.waitForRequest(ofFilter);
      const filtered = page.waitForResponse(ofFilter);
      await page.getByLabel('Server').selectOption('notes');
      if (slow === ofFilter) {
        await asked;
        await begin();
      }
      await filtered;
      await expect.poll(isFiltered, waiting).toBe(true);
      await delay(2_000);
      assert.ok(await isFiltered());
      assert.match(page.url(), /server=notes/);
    });
  });
});
