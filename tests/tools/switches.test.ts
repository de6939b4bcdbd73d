import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { ToolLists } from '#config';
import { type TestHub, startHub } from '#helpers/hub';
import { createToolSwitches } from '#tools';
import { createTestAccess } from '../routing/test-access.ts';
import { textForModel } from '../../hub/tools/cost.ts';

const path = 'servers.files.tools';
const tools = {
  path,
  deny: ['move_*', 'search'],
  allow: ['*_file'],
  rename: { read_file: 'read' },
  describe: { read_file: 'Reads.' },
};

let hub: TestHub;
beforeAll(async () => {
  const fixtures = [{ name: 'files', tools }, { name: 'echo' }];
  const { access } = createTestAccess(fixtures, { tools: { files: tools } });
  hub = await startHub(fixtures, { access });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

/** Creates the switches of the hub with a counter of characters, and records the lists that they write. */
function open(uncounted?: string) {
  const written: (readonly [string, ToolLists])[] = [];
  const switches = createToolSwitches({
    servers: hub.shown,
    shownTools: hub.router.shownTools,
    counter: {
      count: async texts =>
        texts.map(text =>
          uncounted !== undefined && text.includes(uncounted) ? undefined : text.length,
        ),
    },
    changeTools: async (name, next) =>
      void written.push([name, next(hub.server(name).config.tools)]),
  });
  return { switches, written };
}

test('a tool is on unless a list of its server hides it, with the tokens of its definition', async () => {
  const { switches } = open();
  const { tokens, tools: states, server } = await switches.of('files');
  assert.equal(server, 'files');
  const shown = states.map(({ name, publicName, hiddenBy }) => [name, publicName, hiddenBy]);
  assert.deepEqual(shown, [
    ['read_file', 'files_read', undefined],
    ['write_file', 'files_write_file', undefined],
    ['move_file', 'files_move_file', `${path}.deny`],
    ['search', 'files_search', `${path}.deny`],
  ]);
  const [read, write] = states;
  const text = '{"name":"files_read","description":"Reads.","inputSchema":{"type":"object"}}';
  assert.equal(read?.tokens, text.length);
  assert.equal(tokens, text.length + (write?.tokens ?? NaN));
});

test('all servers are listed, and a sum with an uncounted part is unknown', async () => {
  const { switches } = open('files_write_file');
  const all = await switches.list();
  assert.deepEqual(
    all.map(({ server, tokens }) => [server, tokens === undefined]),
    [
      ['files', true],
      ['echo', false],
    ],
  );
});

test('only what a model sees costs tokens, and nothing of a definition that is not an object', () => {
  assert.equal(textForModel(Buffer.from('[1]')), '{}');
  const definition = { title: 'T', name: 'a', inputSchema: {}, _meta: {}, annotations: {} };
  assert.equal(
    textForModel(Buffer.from(JSON.stringify(definition))),
    '{"name":"a","inputSchema":{}}',
  );
});

describe('a change', () => {
  test('adds what it turns off to "deny", once, and leaves "allow"', async () => {
    const { switches, written } = open();
    await switches.change('files', { enable: [], disable: ['write_file', 'move_file'] });
    assert.deepEqual(written, [
      ['files', { deny: ['move_*', 'search', 'write_file'], allow: ['*_file'] }],
    ]);
  });

  test('removes what it turns on from "deny", and adds it to an "allow" without it', async () => {
    const { switches, written } = open();
    await switches.change('files', { enable: ['search', 'read_file'], disable: [] });
    assert.deepEqual(written, [['files', { deny: ['move_*'], allow: ['*_file', 'search'] }]]);
  });

  test('of a server without lists writes "deny" only', async () => {
    const { switches, written } = open();
    await switches.change('echo', { enable: [], disable: ['echo'] });
    assert.deepEqual(written, [['echo', { deny: ['echo'] }]]);
  });

  test.for([
    ['files', { enable: ['move_file'], disable: [] }, /HUB_CONFIG_CONFLICT.*\(move_\*\)/],
    ['files', { enable: ['read'], disable: [] }, /HUB_NAME_UNKNOWN.*has no tool "read"/],
    ['files', { enable: ['search'], disable: ['search'] }, /HUB_REQUEST_INVALID.*"search" is in/],
    ['agenthub', { enable: ['x'], disable: [] }, /HUB_REQUEST_INVALID.*part of the hub/],
    ['nobody', { enable: ['x'], disable: [] }, /HUB_SERVER_UNKNOWN/],
  ] as const)('is refused: %s %j', async ([server, change, expected]) => {
    const { switches, written } = open();
    await assert.rejects(switches.change(server, change), (error: Error & { code?: string }) => {
      assert.match(`${error.code} ${error.message}`, expected);
      return true;
    });
    assert.deepEqual(written, []);
  });
});
