import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { type HubProcess, startHub } from '#helpers/hub-process';
import type { OllamaDouble } from '../../doubles/ollama.ts';
import { startScriptedOllama } from '../../doubles/scripted-model.ts';
import { seriousFindings } from './axe.ts';

describeWithBrowser('the page of an agent', () => {
  let ollama: OllamaDouble;
  let hub: HubProcess;
  /** Lets the model continue. */
  let goOn: () => void = () => undefined;

  beforeAll(async () => {
    ollama = await startScriptedOllama({
      async script({ last, messages }) {
        if (last?.role === 'tool') {
          const { promise, resolve } = Promise.withResolvers<void>();
          goOn = resolve;
          await promise;
          return `The program printed ${last.content.split('\n')[0]}.`;
        }
        if (messages.length > 1) return 'You are welcome.';
        const command = 'echo "print(6*7)" > answer.py; python3 answer.py';
        return { text: 'I write it.', toolCalls: [{ name: 'shell', arguments: { command } }] };
      },
    });
    hub = await startHub({
      config: { servers: {} },
      env: {
        OLLAMA_HOST: ollama.url,
        OLLAMA_MODEL: 'scripted:1b',
        HUB_NAME: `pages-${process.pid}`,
      },
    });
  });

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
  });

  const look = async (see: (page: Page) => Promise<void>) =>
    await visit({ baseURL: hub.url, extraHTTPHeaders: hub.ownerHeaders }, see);

  test('shows a turn live, keeps an opened call open, and lists its files', async () => {
    await look(async page => {
      await page.goto('/dashboard/agents');
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.getByLabel('Name').fill('researcher');
      await page.getByLabel('Message').fill('compute');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.waitForURL('**/dashboard/agents/researcher');
      const conversation = page.locator('#conversation');
      // Text and tool of the turn under way, before its answer exists.
      await conversation.getByText('I write it.').waitFor();
      await page.locator('#under-way').getByText('done').waitFor();
      await page.locator('#files').getByRole('link', { name: 'answer.py' }).waitFor();
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.evaluate('window.isTheSamePage = true');
      goOn();
      await conversation.getByText('The program printed 42.').waitFor();
      await conversation.getByText('shell', { exact: true }).click();
      await page.getByRole('region', { name: 'Result of shell' }).getByText('42').waitFor();
      await page.getByLabel('Message').fill('thanks');
      // When another client sends a message, the page follows, and details that the reader opened stay open.
      await fetch(`${hub.url}/agents/researcher/messages`, {
        method: 'POST',
        headers: { ...hub.ownerHeaders, 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'thanks' }),
      });
      await conversation.getByText('You are welcome.').waitFor();
      assert.ok(await page.getByRole('region', { name: 'Result of shell' }).isVisible());
      expect(await page.getByLabel('Message').inputValue()).toBe('thanks');
      assert.equal(await page.evaluate('window.isTheSamePage'), true);
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await seriousFindings(page, 'contrast'), []);

      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'answer.py' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('answer.py');
      expect(await readFile(await download.path(), 'utf8')).toBe('print(6*7)\n');
    });
  }, 60_000);

  test('stops and removes the agent without JavaScript, on 400 pixels, after a confirmation', async () => {
    await look(async page => {
      await page.setViewportSize({ width: 400, height: 800 });
      await page.goto('/dashboard/agents/researcher');
      const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
      assert.ok(width <= 400, `the page is ${width} pixels wide on 400`);
      await page.getByRole('button', { name: 'Stop researcher' }).click();
      await page.locator('#agent').getByText('stopped').waitFor();
    });
    const options = {
      baseURL: hub.url,
      extraHTTPHeaders: hub.ownerHeaders,
      javaScriptEnabled: false,
    };
    await visit(options, async page => {
      await page.goto('/dashboard/agents/researcher');
      await page.getByRole('link', { name: 'Remove…' }).click();
      await page.getByRole('button', { name: 'Remove researcher' }).click();
      await page.getByText('Removed researcher.').waitFor();
      await page.getByText('No agent yet.').waitFor();
    });
  }, 60_000);
});
