import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServerConfig } from '#config';
import { HubError, type JsonObject } from '#core';
import { type Server, type ServerStatus, describeListing, describeServer } from '#servers';
import { emptyListing } from '../../hub/servers/listing/listing.ts';
import { createAnswering, legacyReplies, startOf } from './answering.ts';
import { configFor, supervise } from './scripted.ts';

/** Returns a server with the given differences from a scripted one. It is never started. */
const serverWith = (more: Partial<Server> = {}, config: Partial<ServerConfig> = {}): Server => ({
  ...supervise(config).server,
  ...more,
});

const described = (...given: Parameters<typeof serverWith>): JsonObject =>
  describeServer(serverWith(...given));

/** Returns the members with these names. */
const only = (all: JsonObject, ...names: readonly string[]) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));

const at = Date.UTC(2026, 6, 28, 12);
const time = '2026-07-28T12:00:00.000Z';
const retrying = { until: at, due: 1, why: 'boom' };

test.each<[ServerStatus, object]>([
  [{ state: 'stopped', byHand: true }, { stopped_by_hand: true }],
  [{ state: 'starting', since: at, progress: 'pulling' }, { progress: 'pulling' }],
  [{ state: 'running', since: at }, { started_at: time }],
  [
    { state: 'backing_off', ...retrying },
    { why: 'boom', retry_at: time },
  ],
  [
    { state: 'unreachable', since: 1, code: 'HUB_ENGINE_UNREACHABLE', ...retrying },
    { why: 'boom', retry_at: time },
  ],
  [{ state: 'stopping', since: at, hasEnded: false }, {}],
  [{ state: 'failed', since: at, why: 'boom' }, { why: 'boom' }],
])('a server whose status is %o is described with %o', (status, expected) => {
  const names = ['progress', 'why', 'started_at', 'retry_at', 'stopped_by_hand'];
  const all = described({ status });
  assert.equal(all['state'], status.state);
  assert.deepEqual(only(all, ...names), expected);
});

test('a server that never ran has only what its config says', () => {
  const names = [
    'advice',
    'breaker',
    'description',
    'era',
    'health',
    'instance',
    'instances',
    'left_out',
    'refused_entry',
    'waiting',
  ];
  const all = described();
  assert.deepEqual(only(all, ...names), { description: 'first' });
  assert.equal(all['last_error'], null);
  assert.equal(all['queued'], 0);
});

describe('the last error', () => {
  const lastError = { at, message: 'exited with code 1', line: undefined, stderr: '' };

  test('has the stderr of its time, if there was any', () => {
    assert.deepEqual(described({ lastError: { ...lastError, stderr: 'words' } })['last_error'], {
      at: time,
      message: 'exited with code 1',
      stderr: 'words',
    });
    assert.deepEqual(described({ lastError })['last_error'], {
      at: time,
      message: 'exited with code 1',
    });
  });
});

describe('an entry that is not applied', () => {
  const heldBack = 'it asks for a mount';
  const refusedEntry = { at, error: new HubError('HUB_SERVER_START_FAILED', 'no such file') };

  test('waits for approval', () => {
    const all = described({}, { heldBack });
    assert.deepEqual(only(all, 'waiting', 'refused_entry'), { waiting: heldBack });
  });

  test('was refused, which takes precedence over the approval of another', () => {
    const all = described({ refusedEntry }, { heldBack });
    assert.deepEqual(only(all, 'waiting', 'refused_entry'), {
      refused_entry: { at: time, message: 'no such file' },
    });
  });
});

test('the reached and the refused targets of a server are described', () => {
  const blocked = [{ target: 'b.com:80', why: 'is not in it', count: 2, lastAt: at }];
  assert.equal(described({ egress: undefined })['egress'], undefined);
  assert.deepEqual(described({ egress: { allowed: 3, blockedCount: 4, blocked } })['egress'], {
    allowed: 3,
    blocked_count: 4,
    blocked: [{ target: 'b.com:80', why: 'is not in it', count: 2, last_at: time }],
  });
});

describe('the health', () => {
  test.each([
    [
      { at: undefined, latencyMs: undefined, misses: 2 },
      { asked_at: null, latency_ms: null, misses: 2 },
    ],
    [
      { at, latencyMs: 1.23456, misses: 0 },
      { asked_at: time, latency_ms: 1.23, misses: 0 },
    ],
  ])('%o is described as %o', (health, expected) => {
    assert.deepEqual(described({ health })['health'], expected);
  });
});

describe('the source', () => {
  const { launch } = configFor();
  const sourceOf = (changed: ServerConfig['launch']) =>
    described({}, { launch: changed })['source'];

  test('of a remote server is its URL without user, password, query and fragment', () => {
    const url = 'https://me:word@host.example:8443/mcp?key=secret#secret';
    assert.deepEqual(
      sourceOf({ kind: 'remote', transport: 'sse', url, headers: { key: 'secret' } }),
      {
        url: 'https://host.example:8443/mcp',
        transport: 'sse',
      },
    );
  });

  test('of a local server is its package, image or command, without arguments and environment', () => {
    assert.ok(launch.kind === 'local');
    const local = { ...launch, command: undefined, args: ['secret'], env: { KEY: 'secret' } };
    assert.deepEqual(sourceOf({ ...local, package: { ecosystem: 'npm', spec: 'a@1.0.0' } }), {
      package: 'a@1.0.0',
    });
    assert.deepEqual(sourceOf({ ...local, image: 'a:1' }), { image: 'a:1' });
    assert.deepEqual(sourceOf({ ...local, command: 'a' }), { command: 'a' });
  });
});

describe('a server that runs', () => {
  test('is described by its instance and its own words', async () => {
    const { running } = await startOf(createAnswering(legacyReplies));
    const names = ['instance', 'server_info', 'protocol_version', 'era', 'in_flight'];
    assert.deepEqual(only(described({ running }), ...names), {
      instance: { answering: true },
      server_info: { name: 'old', version: '1' },
      protocol_version: '2025-11-25',
      era: 'legacy',
      in_flight: 0,
    });
  });

  test('is described by how it received its secrets, if it has any', async () => {
    const { running } = await startOf(createAnswering(legacyReplies));
    const { instance } = running;
    assert.deepEqual(only(described({ running }), 'secrets'), {});
    for (const secrets of ['stdin', 'environment'] as const) {
      const given = { ...running, instance: { ...instance, secrets } };
      assert.deepEqual(only(described({ running: given }), 'secrets'), { secrets });
    }
  });

  test('counts instances of sessions only where there may be some', () => {
    assert.deepEqual(only(described({ instances: 3 }), 'instance_mode', 'instances'), {
      instance_mode: 'shared',
    });
    const ofSessions = described({ instances: 3 }, { instance: 'session' });
    assert.deepEqual(only(ofSessions, 'instance_mode', 'instances'), {
      instance_mode: 'session',
      instances: 3,
    });
  });
});

test('advice, left out items and tags are passed on unchanged', () => {
  const misfit = { list: 'tools', name: 'a', why: ['title is null'], revisions: ['2025-11-25'] };
  const all = described({ advice: ['Pin it.'], misfits: () => [misfit] }, { tags: ['home'] });
  assert.deepEqual(only(all, 'advice', 'left_out', 'tags'), {
    advice: ['Pin it.'],
    left_out: [misfit],
    tags: ['home'],
  });
});

test('a breaker is described with the calls that wait', () => {
  const { server } = supervise();
  const breaker = { state: 'open', since: time, failures: 3 };
  const snapshot = () => ({ ...server.admission.snapshot(), queued: 2, breaker });
  const all = described({ admission: { ...server.admission, snapshot } });
  assert.deepEqual(only(all, 'breaker', 'queued'), { queued: 2, breaker });
});

test('lists are counted, and named on the page of the server', () => {
  const item = (key: string) => ({ key, bytes: Buffer.from('{}') });
  const listing = {
    ...emptyListing,
    tool: [item('a'), item('b')],
    template: [item('x:{y}')],
  };
  const server = serverWith({ listing });
  assert.deepEqual(
    only(describeServer(server), 'tools', 'resources', 'resource_templates', 'prompts'),
    { tools: 2, resources: 0, resource_templates: 1, prompts: 0 },
  );
  assert.deepEqual(describeListing(server), {
    tool_names: ['a', 'b'],
    resource_uris: [],
    resource_template_uris: ['x:{y}'],
    prompt_names: [],
  });
});
