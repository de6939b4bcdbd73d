import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { type TestHub, startHub } from '#helpers/hub';
import { createTestPipeline, waiting } from '../task-pipeline.ts';
import { seriousFindings } from './axe.ts';

describeWithBrowser('the page of a task', () => {
  const { pipeline, put, change, judged, state } = createTestPipeline();
  let hub: TestHub;

  beforeAll(async () => {
    state.diff = {
      text: `diff --git a/sum.js b/sum.js\n@@ -1 +1 @@\n-let x\n+${'let sum; '.repeat(60)}\n`,
      isTruncated: false,
    };
    state.reports.set('REVIEW_REQUEST.md', '# Review of add-sum');
    put(waiting);
    hub = await startHub([], { tasks: pipeline });
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });

  async function look(see: (page: Page) => Promise<void>, javaScriptEnabled = true) {
    // The browser of the tests reaches no host but localhost.
    const baseURL = hub.url.replace('127.0.0.1', 'localhost');
    const options = { baseURL, extraHTTPHeaders: hub.ownerHeaders, javaScriptEnabled };
    await visit(options, see);
  }

  test('follows the task, keeps opened parts and typed text, and is readable in light and dark', async () => {
    await look(async page => {
      await page.goto('/dashboard/tasks');
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.getByRole('link', { name: 'add-sum' }).click();
      await page.waitForURL('**/dashboard/tasks/add-sum');
      await page.getByRole('region', { name: 'Diff' }).getByText('-let x').waitFor();
      await page.getByText('REVIEW_REQUEST.md').click();
      await page.getByLabel('Notes').fill('name it better');
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await seriousFindings(page, 'contrast'), []);
      await page.locator('#live').getByText('Live').waitFor();
      change('add-sum', { attempt: 9 });
      await page.getByText('qwen3:8b, attempt 9').waitFor();
      expect(await page.getByLabel('Notes').inputValue()).toBe('name it better');
      assert.ok(await page.getByText('# Review of add-sum').isVisible());
      await page.getByRole('button', { name: 'Pass' }).click();
      await page.getByText('Recorded the verdict on add-sum.').waitFor();
      expect(judged).toEqual([{ id: 'add-sum', verdict: 'pass', notes: 'name it better' }]);
    });
  }, 60_000);

  test('fits 400 pixels, and finalizes without JavaScript', async () => {
    await look(async page => {
      await page.setViewportSize({ width: 400, height: 800 });
      await page.goto('/dashboard/tasks/add-sum');
      const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
      assert.ok(width <= 400, `the page is ${width} pixels wide on 400`);
    });
    await look(async page => {
      await page.goto('/dashboard/tasks/add-sum');
      await page.getByRole('button', { name: 'Finalize add-sum' }).click();
      await page.getByText('Merged add-sum.').waitFor();
      await page.locator('#task').getByText('done', { exact: true }).waitFor();
    }, false);
  }, 60_000);
});
