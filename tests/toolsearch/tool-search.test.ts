import assert from 'node:assert/strict';
import { test } from 'vitest';
import { systemClock } from '#core';
import { type SearchedTool, createToolSearch } from '#toolsearch';
import { readCases, recallOf } from '../bench/find-tools.ts';

const { signal } = new AbortController();
const toolOf = (name: string, definition: object | string, server = 'one'): SearchedTool => ({
  server,
  name,
  definition: Buffer.from(
    typeof definition === 'string' ? definition : JSON.stringify({ name, ...definition }),
  ),
});

async function namesFor(
  tools: readonly SearchedTool[],
  query: string,
  isFindable: (position: number) => boolean = () => true,
) {
  const search = createToolSearch({ clock: systemClock });
  const found = await search.find(tools, { query, limit: 5, isFindable }, signal);
  return found.map(at => tools[at]?.name);
}

const inner = { type: 'object', properties: { orbit: { description: 'kind of satellite' } } };
const tools = [
  toolOf('readFile', { description: 'Returns bytes.' }),
  toolOf('write', { description: 'Writes a file.' }),
  toolOf('scan', { inputSchema: { properties: { path: true, list: { items: inner } } } }),
  toolOf('status', { description: 'Shows what happens.' }, 'weather-station'),
  toolOf('broken', 'no JSON'),
];

test.each([
  ['read a file', ['readFile', 'write']],
  ['satellites', ['scan']],
  ['weather', ['status']],
  ['broken', ['broken']],
  ['nothing of this', []],
])(
  'tools are found by words of name, server, description and parameters: "%s"',
  async (query, names) => {
    assert.deepEqual(await namesFor(tools, query), names);
  },
);

test('tools that the caller may not use are not found', async () => {
  assert.deepEqual(await namesFor(tools, 'read a file', at => at !== 0), ['write']);
});

test('a tool is found by its current definition', async () => {
  const search = createToolSearch({ clock: systemClock });
  const wanted = { query: 'invoice', limit: 1, isFindable: () => true };
  assert.deepEqual(await search.find(tools, wanted, signal), []);
  const changed = [toolOf('readFile', { description: 'Reads an invoice.' }), ...tools.slice(1)];
  assert.deepEqual(await search.find(changed, wanted, signal), [0]);
});

test('a tool with a huge name is searched by the beginning of the name', async () => {
  const search = createToolSearch({ clock: systemClock });
  const long = [toolOf(`天气${'字'.repeat(200_000)}`, {}), ...tools];
  search.prepare(long);
  const wanted = { query: '天气', limit: 1, isFindable: () => true };
  assert.deepEqual(await search.find(long, wanted, signal), [0]);
});

test('a cancelled search rejects with the reason', async () => {
  const search = createToolSearch({ clock: systemClock });
  const wanted = { query: 'file', limit: 1, isFindable: () => true };
  const reason = new Error('enough');
  await assert.rejects(search.find(tools, wanted, AbortSignal.abort(reason)), reason);
});

test('words alone find as many of 527 tools as before', async () => {
  const cases = readCases();
  const search = createToolSearch({ clock: systemClock });
  const { first, five } = await recallOf(cases, query =>
    search.find(cases.tools, { query, limit: 5, isFindable: () => true }, signal),
  );
  assert.ok(first >= 0.5 && five >= 0.69, `recall@1 ${first}, recall@5 ${five}`);
});
