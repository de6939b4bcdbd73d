import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { readAnswer } from '#jsonrpc';
import {
  type HandshakeOptions,
  type Opening,
  handshake,
  needAnswer,
  resumableAnswer,
  serverInfoOf,
} from '../../../hub/servers/handshake/handshake.ts';
import {
  type Replies,
  createAnswering,
  legacyReplies,
  modernReplies,
  openUpstream,
  settle,
} from '../answering.ts';

/** Creates a server with these answers, and a function that performs the handshake with it. */
function open(replies: Replies) {
  const clock = createManualClock();
  const server = createAnswering(replies);
  const upstream = openUpstream(server, clock);
  const options = { server: 'scripted', hubVersion: '3.2.1', timeoutMs: 20_000 } as const;
  return {
    clock,
    server,
    upstream,
    begin: (opening: Opening, more: Partial<HandshakeOptions> = {}) =>
      handshake(opening, { ...options, ...more }, upstream),
  };
}

const refusing = (code: number) => ({ error: { code, message: 'no' } });

describe('a server whose era is unknown', () => {
  test('is tried in the newest era only, if it answers there', async () => {
    const { server, begin } = open({ ...legacyReplies, ...modernReplies });
    const { era, protocolVersion, implementation } = await begin('newest');
    assert.deepEqual(
      [era, protocolVersion, implementation],
      ['modern', '2026-07-28', { name: 'new', version: '2' }],
    );
    assert.deepEqual(server.methods, ['server/discover']);
  });

  test('is initialized if it refuses the newest era', async () => {
    const { server, begin } = open(legacyReplies);
    const { era, protocolVersion, implementation } = await begin('newest');
    assert.deepEqual(
      [era, protocolVersion, implementation],
      ['legacy', '2025-11-25', { name: 'old', version: '1' }],
    );
    assert.deepEqual(server.methods, [
      'server/discover',
      'initialize',
      'notifications/initialized',
    ]);
  });

  test('is initialized after 5 s of silence', async () => {
    const { clock, server, begin } = open({ ...legacyReplies, 'server/discover': 'silence' });
    const greeted = begin('newest');
    clock.advance(4_999);
    await settle();
    assert.ok(!server.methods.includes('initialize'));
    clock.advance(1);
    assert.equal((await greeted).era, 'legacy');
  });

  test('is given up after the start timeout if that is shorter', async () => {
    const { clock, begin } = open({ 'server/discover': 'silence', initialize: 'silence' });
    const refused = assert.rejects(begin('newest', { timeoutMs: 300 }), {
      code: 'HUB_CALL_TIMEOUT',
      data: { server: 'scripted', method: 'initialize', timeoutMs: 300 },
    });
    clock.advance(300);
    await settle();
    clock.advance(300);
    await refused;
  });

  test('is not initialized if its refusal shows that it speaks the newest era', async () => {
    const { server, begin } = open({ ...legacyReplies, 'server/discover': refusing(-32020) });
    await assert.rejects(begin('newest'), { code: 'HUB_SERVER_PROTOCOL' });
    assert.deepEqual(server.methods, ['server/discover']);
  });
});

describe('a server whose era is known', () => {
  test('is not tried in the other era', async () => {
    const modern = open(legacyReplies);
    await assert.rejects(modern.begin('modern'), { code: 'HUB_SERVER_PROTOCOL' });
    assert.deepEqual(modern.server.methods, ['server/discover']);
    const legacy = open(modernReplies);
    await assert.rejects(legacy.begin('legacy'), { code: 'HUB_SERVER_PROTOCOL' });
    assert.deepEqual(
      legacy.server.methods,
      ['initialize'],
      'it is not told that it is initialized',
    );
  });

  test("and newest gets the hub's information and all capabilities in the request", async () => {
    const { server, begin } = open(modernReplies);
    await begin('modern');
    const params = server.sent[0]?.['params'];
    const meta = isObject(params) ? params['_meta'] : undefined;
    assert.deepEqual(meta, {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': {
        name: 'agenthub',
        title: 'AgentHub',
        version: '3.2.1',
      },
      'io.modelcontextprotocol/clientCapabilities': {
        roots: { listChanged: true },
        sampling: { tools: {}, context: {} },
        elicitation: { form: {}, url: {} },
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
    });
  });

  test.each([
    ['no revisions', {}, 'scripted answered server/discover without "supportedVersions"'],
    [
      'a revision that is not a list',
      { supportedVersions: '2026-07-28' },
      'scripted answered server/discover without "supportedVersions"',
    ],
    [
      'later revisions only',
      { supportedVersions: ['2027-01-01'] },
      'scripted speaks MCP ["2027-01-01"]; the hub speaks 2026-07-28',
    ],
  ])('and newest is refused with %s', async (_, result, message) => {
    const { begin } = open({ 'server/discover': { result } });
    await assert.rejects(begin('modern'), {
      code: 'HUB_SERVER_PROTOCOL',
      message,
      data: { server: 'scripted', method: 'server/discover' },
    });
  });

  test('and older is refused finally with a revision that the hub does not speak', async () => {
    const result = { ...legacyReplies.initialize.result, protocolVersion: '2024-10-07' };
    const { server, begin } = open({ initialize: { result } });
    await assert.rejects(begin('legacy'), {
      code: 'HUB_SERVER_PROTOCOL',
      message:
        'scripted speaks MCP "2024-10-07"; the hub speaks 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05',
      data: { server: 'scripted', retryable: false },
    });
    assert.deepEqual(server.methods, ['initialize']);
  });

  test('and older gets the information of its only client, or of the hub', async () => {
    const said = async (more: Partial<HandshakeOptions>) => {
      const { server, begin } = open(legacyReplies);
      await begin('legacy', more);
      return server.sent[0]?.['params'];
    };
    const client = { capabilities: '{"x":1}', clientInfo: '{"name":"ada","version":"1"}' };
    assert.deepEqual(await said({ client }), {
      protocolVersion: '2025-11-25',
      capabilities: { x: 1 },
      clientInfo: { name: 'ada', version: '1' },
    });
    const hub = await said({});
    assert.ok(isObject(hub) && isObject(hub['capabilities']));
    assert.deepEqual(hub['clientInfo'], { name: 'agenthub', title: 'AgentHub', version: '3.2.1' });
    assert.deepEqual(Object.keys(hub['capabilities']).toSorted(), [
      'elicitation',
      'roots',
      'sampling',
      'tasks',
    ]);
  });
});

const answerOf = (result: object) =>
  readAnswer(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })));

test.each([
  [{}, {}, { name: '', version: '' }, undefined],
  [
    { capabilities: [], serverInfo: 'x', instructions: 7 },
    {},
    { name: '', version: '' },
    undefined,
  ],
  [
    { capabilities: { tools: {} }, serverInfo: { name: 'a', version: 2 }, instructions: 'Read.' },
    { tools: {} },
    { name: 'a', version: '' },
    'Read.',
  ],
])(
  'the server information %j is read, with empty values for invalid parts',
  (said, capabilities, program, text) => {
    const info = serverInfoOf('scripted', answerOf({ protocolVersion: '2025-03-26', ...said }));
    assert.deepEqual(
      [info.protocolVersion, info.capabilities, info.implementation, info.instructions],
      ['2025-03-26', capabilities, program, text],
    );
  },
);

test('a session of the older era is resumed from its response; the newest era has none', async () => {
  const legacy = await open(legacyReplies).begin('legacy');
  assert.match(resumableAnswer(legacy) ?? '', /^\{"jsonrpc":"2.0".*"name":"old"/);
  assert.equal(resumableAnswer(await open(modernReplies).begin('modern')), undefined);
});

describe('a server responds', () => {
  test.each([
    ['legacy', legacyReplies, 'ping'],
    ['modern', modernReplies, 'server/discover'],
  ] as const)('in the %s era if it answers, even with an error', async (era, replies, method) => {
    const { server, upstream, begin } = open(replies);
    const serverInfo = await begin(era);
    await needAnswer({ upstream, serverInfo }, '0', 1_000);
    assert.equal(server.methods.at(-1), method);
  });

  test('but not without an answer', async () => {
    const { clock, upstream, begin } = open({ ...legacyReplies, ping: 'silence' });
    const serverInfo = await begin('legacy');
    const refused = assert.rejects(needAnswer({ upstream, serverInfo }, '0', 1_000), {
      code: 'HUB_CALL_TIMEOUT',
    });
    clock.advance(1_000);
    await refused;
  });
});
