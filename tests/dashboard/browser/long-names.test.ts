import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { startHub, states, until } from '#helpers/hub-process';
import { connectAs } from './scene.ts';

/** Longest name of a server. */
const longName = 'a-server-with-a-name-of-32-signs';

/** Source of a server whose only tool has a long name, a description with a long word, and arguments of long names. */
const source = `
  const text = { type: 'string', description: 'As in https://example.com/' + 'path/'.repeat(20) };
  const name = 'include_everything_that_is_'.repeat(3);
  const properties = { [name]: text, ['a' + name]: { type: 'object', properties: { [name]: text } } };
  const tools = [{ name: 'a'.repeat(120), description: 'Looks up ' + 'b'.repeat(150) + '.', inputSchema: { type: 'object', properties } }];
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method } = JSON.parse(line);
    const results = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'long', version: '1' } },
      'tools/list': { tools },
      'tools/call': { content: [] },
    };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
  });
`;

/** Script that finds tables that are wider than their place, and cells whose text is drawn over their neighbours. */
const spilling = `[
  ...[...document.querySelectorAll('table')].filter(table => table.offsetWidth > table.parentElement.clientWidth + 1),
  ...[...document.querySelectorAll('td, tbody th')]
    .filter(cell => getComputedStyle(cell).overflow === 'visible' && cell.scrollWidth > cell.clientWidth + 1),
].map(({ textContent }) => textContent)`;

const widths = [320, 390, 850, 1_000, 1_216, 1_280, 1_400];

describeWithBrowser('long names', () => {
  test('of servers, clients and tools, and long words, stay in their columns', async () => {
    const entry = {
      command: process.execPath,
      args: ['-e', source.replaceAll(/\s+/g, ' ')],
      runtime: 'process',
      auto_start: true,
    };
    await using hub = await startHub({ config: { servers: { [longName]: entry } } });
    await until(
      () => states(hub),
      found => found[longName] === 'running',
      30_000,
    );
    await using client = await connectAs(hub, `client ${'c'.repeat(60)}`, '1.0.0');
    await client.call(`${longName}_${'a'.repeat(120)}`);
    // The answer is HUB_NAME_UNKNOWN, a long outcome.
    await client.call(`nothing_${'n'.repeat(60)}`);
    await visit({ baseURL: hub.url, extraHTTPHeaders: hub.ownerHeaders }, async page => {
      for (const path of [
        '/dashboard',
        '/dashboard/activity?kind=all',
        '/dashboard/sessions',
        '/dashboard/audit',
        `/dashboard/servers/${longName}`,
        `/dashboard/servers/${longName}/tool?name=${'a'.repeat(120)}`,
      ]) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 });
          const shown = Number(await page.evaluate('document.documentElement.scrollWidth'));
          assert.ok(shown <= width, `${path} is ${shown} pixels wide on ${width}`);
          assert.deepEqual(await page.evaluate(spilling), [], `${path} on ${width}`);
        }
      }
    });
  });
});
