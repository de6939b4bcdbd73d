import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { test } from 'vitest';
import { describeWithBrowser } from '#helpers/browser';
import { publishedServers, usePublished } from './healthy.ts';
import {
  type Dashboard,
  connectAs,
  enhance,
  mostlyProcesses,
  openDashboard,
  useServers,
} from './scene.ts';

/**
 * UPDATE_SCREENSHOTS=1 renews the screenshots of the documents, after use that is long enough to give charts a shape.
 */
const isUpdate = process.env['UPDATE_SCREENSHOTS'] === '1';
const documents = join(import.meta.dirname, '..', '..', '..', 'docs', 'screenshots');
const updateMs = 900_000;
/** Time that the charts show, and pause between two bursts of calls, in ms. */
const useMs = 600_000;
const pauseMs = 1_500;
const maxBytes = 200_000;

const wide = { viewport: { width: 1280, height: 800 } };
const narrow = { viewport: { width: 400, height: 800 } };

type Shot = {
  readonly file: string;
  readonly path: string;
  readonly options: BrowserContextOptions;
  /** Actions of a user before the screenshot. */
  readonly prepare?: (page: Page) => Promise<void>;
};

const shots: readonly Shot[] = [
  { file: 'overview-dark.png', path: '/dashboard', options: { ...wide, colorScheme: 'dark' } },
  { file: 'overview-narrow.png', path: '/dashboard', options: narrow },
  { file: 'server.png', path: '/dashboard/servers/calendar', options: wide },
  {
    file: 'tool.png',
    path: '/dashboard/servers/calendar/tool?name=create_event',
    options: wide,
    async prepare(page) {
      await page.getByLabel(/^title/).fill('Tea with the neighbours');
      await page.getByLabel(/^attendees/).fill('4');
      await page.getByLabel(/^room/).selectOption('Garden');
      await page.getByLabel(/^agenda/).fill('["sugar", "milk"]');
      await page.getByRole('button', { name: /^Call/ }).click();
      await page.getByRole('region', { name: 'Text' }).waitFor();
      await page.evaluate('scrollTo(0, 0)');
    },
  },
  { file: 'activity.png', path: '/dashboard/activity', options: wide },
  {
    file: 'call.png',
    path: '/dashboard/activity?tool=calendar_create_event',
    options: wide,
    async prepare(page) {
      await page.getByRole('main').locator('a[href^="/dashboard/activity/"]').first().click();
      await page.waitForURL(/\/dashboard\/activity\/[^/?]+$/);
    },
  },
  { file: 'caches.png', path: '/dashboard/caches', options: wide },
  { file: 'install.png', path: '/dashboard/install', options: wide },
];

/** Screenshot of the README: a hub whose servers all run. */
const readme: Shot = {
  file: 'overview.png',
  path: '/dashboard',
  options: { viewport: { width: 1400, height: 1040 } },
};

const prompts = [
  'Write a test for the parser of dates',
  'Explain this stack trace',
  'Review the change in src/queue.ts',
  'Summarise the meeting of Monday',
];

async function take(dashboard: Dashboard, folder: string, shot: Shot): Promise<void> {
  const { file, path, options, prepare } = shot;
  const picture = join(folder, file);
  await dashboard.visit(
    async page => {
      await page.goto(path);
      await prepare?.(page);
      await page.screenshot({ path: picture, animations: 'disabled' });
    },
    { colorScheme: 'light', ...options },
  );
  const { size } = await stat(picture);
  assert.ok(size > 10_000 && size < maxBytes, `${file} has ${size} bytes`);
}

describeWithBrowser('the pictures in the documents', () => {
  test('show the dashboard in use', { timeout: updateMs }, async () => {
    await using dashboard = await openDashboard(isUpdate ? undefined : mostlyProcesses);
    const { hub, ollama } = dashboard;
    ollama.says(
      ({ messages }) => `In detail, with the reasons: ${JSON.stringify(messages).slice(0, 80)}`,
    );
    await using _desktop = await connectAs(hub, 'claude-desktop', '0.14.0');
    const until = performance.now() + (isUpdate ? useMs : 0);
    for (let round = 0; round === 0 || performance.now() < until; round++) {
      await useServers(hub, Math.round(3 + 2 * Math.sin(round / 12)));
      if (round % 8 === 0) await enhance(hub, prompts[(round / 8) % prompts.length] ?? '');
      // Opens the dashboard, because it computes the use of processors between two views.
      await fetch(`${hub.url}/dashboard`);
      if (isUpdate) await delay(pauseMs);
    }
    const folder = isUpdate ? documents : await mkdtemp(join(tmpdir(), 'agenthub-screenshots-'));
    await mkdir(folder, { recursive: true });
    try {
      for (const shot of shots) await take(dashboard, folder, shot);
    } finally {
      if (!isUpdate) await rm(folder, { recursive: true });
    }
  });

  test.runIf(isUpdate)('show a healthy hub in the README', { timeout: updateMs }, async () => {
    await using published = await publishedServers();
    const { servers } = published;
    const states = Object.fromEntries(Object.keys(servers).map(name => [name, 'running']));
    await using dashboard = await openDashboard({ servers, states, withinMs: 280_000 });
    const { hub, ollama } = dashboard;
    ollama.says(() => 'In detail, with the reasons.');
    await using _desktop = await connectAs(hub, 'claude-desktop', '0.14.0');
    const until = performance.now() + useMs;
    for (let round = 0; performance.now() < until; round++) {
      await usePublished(hub, Math.round(3 + 2 * Math.sin(round / 12)));
      if (round % 8 === 0) await enhance(hub, prompts[(round / 8) % prompts.length] ?? '');
      await fetch(`${hub.url}/dashboard`);
      await delay(pauseMs);
    }
    await take(dashboard, documents, readme);
  });
});
