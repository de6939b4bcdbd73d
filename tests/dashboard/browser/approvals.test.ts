import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { startHub } from '#helpers/hub';
import { openTestApprovals } from '../../approvals/test-approvals.ts';
import { createTestAccess } from '../../routing/test-access.ts';
import { seriousFindings } from './axe.ts';

const fixtures = [{ name: 'echo' }];

describeWithBrowser('calls that wait for a person', () => {
  test('raise the badge of an open page, are approved by a click, and their calls run', async () => {
    const { approvals } = await openTestApprovals();
    const { access } = createTestAccess(fixtures, {
      policy: [{ tools: ['echo_echo'], action: 'confirm' }],
    });
    await using hub = await startHub(fixtures, { access, approvals });
    const call = () =>
      fetch(`${hub.url}/mcp/echo/tools/call`, {
        method: 'POST',
        body: JSON.stringify({ name: 'echo', arguments: { text: 'a' } }),
      });
    const baseURL = hub.url.replace('127.0.0.1', 'localhost');
    const options = { baseURL, extraHTTPHeaders: hub.ownerHeaders };
    await visit(options, async page => {
      await page.goto('/dashboard');
      await expect.poll(() => page.locator('#live').textContent()).toBe('Live');
      assert.equal((await call()).status, 403);
      await page.locator('#approvals-badge .badge', { hasText: '1' }).waitFor();
      await page.getByRole('link', { name: /Approvals/ }).click();
      await page.getByRole('button', { name: /^Approve once/ }).waitFor();
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.getByRole('button', { name: /^Approve once/ }).click();
      await page.getByText('Approved for one call').waitFor();
      await page.locator('#approvals-badge .badge').waitFor({ state: 'detached' });
    });
    assert.equal((await call()).status, 200);
    assert.equal((await call()).status, 403);
  });
});
