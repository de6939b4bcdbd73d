import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { startHub } from '#helpers/hub';

/** Script that returns the background of an element, or of the part before its content. */
const backgroundOf = (selector: string, part = '') =>
  `getComputedStyle(document.querySelector('${selector}'), '${part}').backgroundColor`;

describeWithBrowser('forced colours', () => {
  test('show the icons of buttons, switches, and what is current', async () => {
    await using hub = await startHub([{ name: 'calendar' }], { changeTools: async () => {} });
    const baseURL = hub.url.replace('127.0.0.1', 'localhost');
    const options = {
      baseURL,
      extraHTTPHeaders: hub.ownerHeaders,
      forcedColors: 'active',
    } as const;
    await visit(options, async page => {
      const colorOf = async (script: string) => String(await page.evaluate(script));
      await page.goto('/dashboard');
      const canvas = await colorOf(backgroundOf('body'));
      for (const icon of ['start', 'stop', 'restart'])
        assert.notEqual(await colorOf(backgroundOf(`.icon.${icon}`, '::before')), canvas, icon);

      await page.goto('/dashboard/servers/calendar');
      await page.getByRole('switch', { name: 'list_events' }).waitFor();
      assert.notEqual(await colorOf(backgroundOf('.switch', '::before')), canvas);
      const lineOf = async (tab: string) =>
        await colorOf(`getComputedStyle(document.querySelector('${tab}')).borderBottomColor`);
      const current = await lineOf('.tabs a[aria-current]');
      assert.notEqual(current, await lineOf('.tabs a:not([aria-current])'));

      await page.goto('/dashboard/activity');
      const chips = ['#chip-tools', '#chip-all'].map(chip => colorOf(backgroundOf(chip)));
      assert.equal(new Set(await Promise.all(chips)).size, 2);
    });
  });
});
