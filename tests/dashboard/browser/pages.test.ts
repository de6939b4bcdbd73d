import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithBrowser } from '#helpers/browser';
import { losesFocus, seriousFindings } from './axe.ts';
import { type Dashboard, enhance, openDashboard, useServers } from './scene.ts';

/** Every page, in each state that a server can be shown in. */
const pages = [
  '/dashboard',
  '/dashboard/servers/calendar',
  '/dashboard/servers/calendar?tab=log',
  '/dashboard/servers/calendar?tab=details',
  '/dashboard/servers/archive',
  '/dashboard/servers/weather',
  '/dashboard/servers/calendar/tool?name=create_event',
  '/dashboard/servers/calendar/remove',
  '/dashboard/activity',
  '/dashboard/activity?server=notes&outcome=error',
  '/dashboard/caches',
  '/dashboard/sessions',
  '/dashboard/connect',
  '/dashboard/access',
  '/dashboard/audit',
  '/dashboard/install',
  '/dashboard/versions',
];

/** The words of states and outcomes that stand on more than one line. */
const brokenBadges = `
  [...document.querySelectorAll('.badge')]
    .filter(badge => badge.getClientRects().length > 1)
    .map(({ textContent }) => textContent)
`;

describeWithBrowser('the pages of the dashboard', () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await openDashboard();
    await useServers(dashboard.hub, 8);
    for (const prompt of ['fix my code', 'fix my code', 'write a poem about the sea'])
      await enhance(dashboard.hub, prompt);
  });

  afterAll(() => dashboard?.[Symbol.asyncDispose]());

  /** Opens each page, and that of the newest call. */
  async function eachPage(page: Page, look: (path: string) => Promise<void>): Promise<void> {
    for (const path of pages) {
      const answer = await page.goto(path);
      assert.equal(answer?.status(), 200, path);
      await look(path);
    }
    await page.goto('/dashboard/activity');
    await page.getByRole('main').locator('a[href^="/dashboard/activity/"]').first().click();
    await page.waitForURL(/\/dashboard\/activity\/[^/?]+$/);
    await look('/dashboard/activity/{id}');
  }

  test('load, in light and dark, with nothing that axe calls serious', async () => {
    await dashboard.visit(async page => {
      await eachPage(page, async path => {
        assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, path);
        assert.match(await page.title(), /AgentHub/, path);
        assert.deepEqual(await page.evaluate(losesFocus), [], path);
        await page.emulateMedia({ colorScheme: 'light' });
        assert.deepEqual(await seriousFindings(page, 'all'), [], path);
        await page.emulateMedia({ colorScheme: 'dark' });
        assert.deepEqual(await seriousFindings(page, 'contrast'), [], `${path} in the dark`);
      });
    });
  });

  test('are as dark as the person asks for', async () => {
    const lightnessIn = async (colorScheme: 'light' | 'dark') =>
      await dashboard.visit(
        async page => {
          await page.goto('/dashboard');
          const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
          const [red = 0, green = 0, blue = 0] = String(color).match(/[\d.]+/g) ?? [];
          return Number(red) + Number(green) + Number(blue);
        },
        { colorScheme },
      );
    assert.ok((await lightnessIn('light')) > 600);
    assert.ok((await lightnessIn('dark')) < 150);
  });

  test('need no scrolling sideways on 400 pixels, 850, 1,400 or 1,920, and break no name of a state', async () => {
    await dashboard.visit(
      async page => {
        await eachPage(page, async path => {
          for (const least of [1_920, 1_400, 850, 400]) {
            await page.setViewportSize({ width: least, height: 800 });
            const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
            assert.ok(width <= least, `${path} is ${width} pixels wide on ${least}`);
          }
          assert.deepEqual(await page.evaluate(brokenBadges), [], path);
        });
      },
      { viewport: { width: 400, height: 800 } },
    );
  });

  test('can be read without JavaScript', async () => {
    await dashboard.visit(
      async page => {
        await eachPage(page, async path => {
          const text = await page.getByRole('main').innerText();
          assert.ok(text.length > 80, `${path}: ${text}`);
          assert.doesNotMatch(text, /\[object|undefined|NaN|null/, path);
        });
        await page.goto('/dashboard');
        for (const name of ['calendar', 'notes', 'archive', 'weather'])
          await page.getByRole('main').getByRole('link', { name, exact: true }).first().waitFor();
      },
      { javaScriptEnabled: false },
    );
  });
});
