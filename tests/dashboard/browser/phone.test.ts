import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { startHub } from '#helpers/hub-process';
import { inProcess } from '../../faults/scene.ts';

/** Script that returns the texts of tabs outside of the window. */
const hiddenTabs = `
  [...document.querySelectorAll('.tabs a')]
    .filter(tab => tab.getBoundingClientRect().right > innerWidth)
    .map(({ textContent }) => textContent)
`;

/** Script that returns the cells of code that share their line with another cell. */
const narrowCode = `
  [...document.querySelectorAll('td:has(> code)')]
    .filter(cell => cell.getBoundingClientRect().width < cell.parentElement.clientWidth / 2)
    .map(({ textContent }) => textContent)
`;

describeWithBrowser('a phone', () => {
  test('shows all tabs of a server, and rules of the policy in whole lines', async () => {
    const policy = [{ tools: ['calendar_create_event', 'calendar_cancel_event'], action: 'deny' }];
    const config = { servers: { calendar: inProcess('calendar.mjs') }, policy };
    await using hub = await startHub({ config });
    const options = {
      baseURL: hub.url,
      extraHTTPHeaders: hub.ownerHeaders,
      viewport: { width: 390, height: 844 },
    };
    await visit(options, async page => {
      await page.goto('/dashboard/servers/calendar');
      await page.getByRole('link', { name: 'Details' }).waitFor();
      assert.deepEqual(await page.evaluate(hiddenTabs), []);
      await page.goto('/dashboard/access');
      await page.getByText('calendar_cancel_event').waitFor();
      assert.deepEqual(await page.evaluate(narrowCode), []);
    });
  });
});
