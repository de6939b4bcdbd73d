import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createEmitter } from '#core';
import { encodeCall, readMessage } from '#jsonrpc';
import type { ListKind, Server, Servers } from '#servers';
import type { Endpoint, SessionState } from '../../../hub/routing/session.ts';
import { listenToServers } from '../../../hub/routing/events/server-events.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { readRequest, sessionOf } from '../steps/scripted-call.ts';

/** Creates a server that all clients share, and a server with one instance per session. */
function scene() {
  const shared = createScriptedServer({ name: 'shared' });
  const owned = createScriptedServer({ name: 'owned', instance: 'session' });
  const instance = createScriptedServer({ name: 'owned', instance: 'session' });
  const all = createScriptedNeeds([shared, owned]);
  const opened = createEmitter<{
    readonly server: Server;
    readonly base: Server;
    readonly session: object;
  }>();
  const removed = createEmitter<Server>();
  const servers: Servers = {
    ...all.servers,
    removed: removed.event,
    instances: { ...all.servers.instances, opened: opened.event },
  };
  const heard: string[] = [];
  const happened: string[] = [];
  const happen =
    (what: string) =>
    ({ config }: Server) =>
      void happened.push(`${what} ${config.name}`);
  const nameOf = (endpoint: Endpoint | undefined) =>
    endpoint === undefined || endpoint === 'all' ? endpoint : endpoint.config.name;

  listenToServers({
    ...all,
    servers,
    sessions: () => all.sessions,
    streams: {
      listChanged: (endpoint, kind) => void heard.push(`stream of ${nameOf(endpoint)}: ${kind}`),
      endAll: endpoint => void happened.push(`streams end at ${nameOf(endpoint)}`),
    },
    levels: { update: happen('level of') },
    subscriptions: { renew: happen('subscriptions of'), takeOver() {} },
    gone: happen('gone is'),
    pinnedChanges: { announcing: () => () => true },
    fromServers: {
      notification: (_, { method }, session) => void happened.push(`${method} ${session?.key}`),
      serverRequest: (_, { request }, session) =>
        void happened.push(`${request.method} ${session?.key}`),
    },
  });

  const open = (name: string, endpoint: Endpoint, protocolVersion?: string) => {
    const send = (bytes: Buffer) =>
      void heard.push(`${name}: ${JSON.parse(bytes.toString()).method.split('/')[1]}`);
    const session: SessionState = { ...sessionOf({ endpoint, send }), key: name, protocolVersion };
    all.sessions.push(session);
    return session;
  };
  return { ...all, shared, owned, instance, opened, removed, heard, happened, open };
}

const version = '2025-11-25';
/** Time in which changes of lists are gathered into one announcement, in ms. */
const gatherMs = 100;

describe('a list that changed', () => {
  test('is announced to those that see its server, once for concurrent changes', () => {
    const one = scene();
    one.open('of shared', one.shared.server, version);
    one.open('of all', 'all', version);
    one.open('of owned', one.owned.server, version);
    one.open('not initialized', one.shared.server);
    const kinds: readonly ListKind[] = ['tool', 'resource', 'tool', 'template'];
    for (const kind of kinds) one.shared.fire.listed(kind);
    one.clock.advance(gatherMs - 1);
    assert.equal(one.heard.length, 0);
    one.clock.advance(1);
    const [ofOne, ofAll] = [
      one.heard.filter(line => /shared/.test(line)),
      one.heard.filter(line => /all/.test(line)),
    ];
    assert.deepEqual(ofOne, [
      'of shared: tools',
      'stream of shared: tool',
      'of shared: resources',
      'stream of shared: template',
    ]);
    assert.deepEqual(
      ofAll,
      ofOne.map(line => line.replace('shared', 'all')),
    );
    assert.equal(one.heard.length, 8);
    one.shared.fire.listed('tool');
    one.clock.advance(gatherMs);
    assert.equal(one.heard.length, 12, 'what changes later is announced by itself');
  });

  test('of a server with an instance per session is announced by the instances', () => {
    const one = scene();
    const session = one.open('of owned', one.owned.server, version);
    one.owned.fire.listed('tool');
    one.clock.advance(gatherMs);
    assert.ok(!one.heard.includes('of owned: tools'));
    assert.ok(one.heard.includes('stream of owned: tool'));
    one.opened.fire({ server: one.instance.server, base: one.owned.server, session });
    one.heard.length = 0;
    one.instance.fire.listed('tool');
    assert.deepEqual(one.heard, ['of owned: tools'], 'at once');
  });

  test('of an instance gives its session its own list on the endpoint of all servers', () => {
    const one = scene();
    const [ofAll, ofOne] = [
      one.open('of all', 'all', version),
      one.open('of owned', one.owned.server, version),
    ];
    for (const session of [ofAll, ofOne]) {
      const { server, fire } = createScriptedServer({ name: 'owned', instance: 'session' });
      one.opened.fire({ server, base: one.owned.server, session });
      fire.listed('prompt');
    }
    assert.deepEqual([ofAll.own !== undefined, ofOne.own !== undefined], [true, false]);
  });
});

describe('a server', () => {
  test('that restarts gets its log level and its subscriptions; one that stops loses its state', () => {
    const one = scene();
    one.shared.fire.changed({ state: 'running', since: 0 });
    one.shared.fire.changed({ state: 'stopped', byHand: false });
    assert.deepEqual(one.happened, [
      'level of shared',
      'subscriptions of shared',
      'gone is shared',
    ]);
  });

  test('that is removed ends the streams of its endpoint', () => {
    const one = scene();
    one.removed.fire(one.shared.server);
    assert.deepEqual(one.happened, ['streams end at shared']);
  });

  test('is listened to once, and its instances in the name of their sessions', () => {
    const one = scene();
    const session = one.open('ada', one.owned.server, version);
    one.opened.fire({ server: one.instance.server, base: one.owned.server, session });
    const notification = readMessage(encodeCall(undefined, 'said'));
    assert.ok(notification.kind === 'notification');
    const request = readRequest(encodeCall(1, 'asked').toString());
    for (const { fire, running } of [one.shared, one.instance]) {
      const connection = running.upstream;
      fire.notified({ ...notification, connection });
      fire.requested({ request, connection, about: undefined, answer() {}, tell() {} });
    }
    assert.deepEqual(one.happened, ['said undefined', 'asked undefined', 'said ada', 'asked ada']);
  });
});
