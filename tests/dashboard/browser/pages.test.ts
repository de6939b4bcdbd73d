import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithBrowser } from '#helpers/browser';
import { losesFocus, seriousFindings } from './axe.ts';
import { type Dashboard, enhance, openDashboard, useServers } from './scene.ts';

/** Paths of all pages, with servers in every state. */
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

/** Timeout of a test in ms. The first test that needs the content of the pages loads them all. */
const visitMs = 60_000;

/** Script that finds labels of states and outcomes that are broken into several lines. */
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

  /** Content of a page in a browser with JavaScript. */
  type Found = {
    readonly headings: number;
    readonly title: string;
    readonly losingFocus: unknown;
    readonly light: readonly string[];
    readonly dark: readonly string[];
    /** Width of the page in pixels, for each width of the window. */
    readonly widths: readonly (readonly [window: number, page: number])[];
    readonly brokenBadges: unknown;
  };
  /** Content of the pages by path. Each page is loaded once for all tests. */
  let visited: Promise<ReadonlyMap<string, Found>> | undefined;
  const visitAll = () => (visited ??= findAll());

  async function findAll(): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    await dashboard.visit(async page => {
      await eachPage(page, async path => void found.set(path, await findOn(page)));
    });
    assert.equal(found.size, pages.length + 1);
    return found;
  }

  async function findOn(page: Page): Promise<Found> {
    await page.setViewportSize({ width: 1_280, height: 720 });
    const headings = await page.getByRole('heading', { level: 1 }).count();
    const title = await page.title();
    const losingFocus: unknown = await page.evaluate(losesFocus);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await seriousFindings(page, 'all');
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await seriousFindings(page, 'contrast');
    const widths: [number, number][] = [];
    for (const width of [1_920, 1_400, 850, 400]) {
      await page.setViewportSize({ width, height: 800 });
      widths.push([width, Number(await page.evaluate('document.documentElement.scrollWidth'))]);
    }
    const broken: unknown = await page.evaluate(brokenBadges);
    return { headings, title, losingFocus, light, dark, widths, brokenBadges: broken };
  }

  /** Calls `look` for each page, and for the page of the newest call. */
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

  test(
    'load in light and dark, without serious findings of axe',
    { timeout: visitMs },
    async () => {
      for (const [path, found] of await visitAll()) {
        assert.equal(found.headings, 1, path);
        assert.match(found.title, /AgentHub/, path);
        assert.deepEqual(found.losingFocus, [], path);
        assert.deepEqual(found.light, [], path);
        assert.deepEqual(found.dark, [], `${path} in the dark`);
      }
    },
  );

  test('follow the color scheme that the person prefers', async () => {
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

  test(
    'need no horizontal scrolling on 400, 850, 1,400 or 1,920 pixels, and break no name of a state',
    { timeout: visitMs },
    async () => {
      for (const [path, found] of await visitAll()) {
        for (const [window, width] of found.widths)
          assert.ok(width <= window, `${path} is ${width} pixels wide on ${window}`);
        assert.deepEqual(found.brokenBadges, [], path);
      }
    },
  );

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
