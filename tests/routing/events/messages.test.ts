import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createRecordingLog } from '#helpers/recording-log';
import { encodeCall, encodeResult, readAnswer, readMessage } from '#jsonrpc';
import type { About, ForwardedRequest, ServerConnection } from '#upstream';
import { createFromClients } from '../../../hub/routing/events/client-notifications.ts';
import { createFromServers } from '../../../hub/routing/events/messages.ts';
import { createUrlElicitations } from '../../../hub/routing/events/ownership.ts';
import { createResourceUpdates } from '../../../hub/routing/events/resource-updates.ts';
import { createServerLogs } from '../../../hub/routing/events/server-logs.ts';
import { type SessionState, createCancellation, setWork } from '../../../hub/routing/session.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { readRequest, sessionOf } from '../steps/scripted-call.ts';

function notificationOf(method: string, params: object = {}) {
  const message = readMessage(encodeCall(undefined, method, params));
  return message.kind === 'notification' ? message : assert.fail(message.kind);
}

/** Creates a server and two initialized clients of it; `heard` lists the messages they receive, and on which stream. */
function scene(instance: 'shared' | 'session' = 'shared') {
  const there = createScriptedServer({ name: 'own', instance });
  const { server } = there;
  const all = createScriptedNeeds([there]);
  const { log, logged } = createRecordingLog();
  const urlElicitations = createUrlElicitations();
  const heard: string[] = [];
  /** Sessions that the policy lets use nothing of the server. */
  const denied = new Set<unknown>();
  const withdrawn: string[] = [];
  const answers: string[] = [];

  const open = (name: string) => {
    const hear = (how: string) => (bytes: Buffer) =>
      void heard.push(`${name} ${how}: ${JSON.parse(bytes.toString()).method}`);
    const session: SessionState = {
      ...sessionOf({ endpoint: server, send: hear('is told') }),
      serverRequest: ({ request }: ForwardedRequest) => hear('is asked')(request.bytes),
      protocolVersion: '2025-11-25',
    };
    all.sessions.push(session);
    const responseStream = { send: hear('is told in its call') };
    return { session, caller: { owner: session, responseStream, progressToken: undefined } };
  };
  const [ada, eve] = [open('ada'), open('eve')];

  const fromServers = createFromServers({
    ...all,
    sessions: () => all.sessions,
    access: { mayHearFrom: session => !denied.has(session) },
    asking: {
      clients: [
        { withdrawn: () => void withdrawn.push('of a session') },
        { withdrawn: () => void withdrawn.push('of a call') },
      ],
      hub: { answers: () => false, answerRequest: async () => {}, withdrawn() {} },
      models: { isOwn: () => false, answerRequest: async () => {}, withdrawn() {} },
    },
    urlElicitations,
    levels: { defaultLevel: () => undefined },
    baseOf: one => one,
    logs: createServerLogs({ log, clock: all.clock }),
    updated: createResourceUpdates(all),
  });

  return {
    ...there,
    tasks: all.tasks,
    subscriptions: all.subscriptions,
    urlElicitations,
    ada,
    eve,
    heard,
    denied,
    withdrawn,
    answers,
    logged: () => logged.map(({ level, message }) => `${level}: ${message}`),
    fields: () => logged.map(({ fields }) => fields),
    notify(method: string, params: object = {}, about?: About, session?: SessionState) {
      const connection = there.running.upstream;
      const notification = { ...notificationOf(method, params), connection };
      const from = about === undefined ? notification : { ...notification, about };
      fromServers.notification(server, from, session);
    },
    ask(
      method: string,
      about?: About,
      params: object = {},
      session?: SessionState,
      connection: ServerConnection = there.running.upstream,
    ) {
      const request = readRequest(encodeCall(1, method, params).toString());
      const answer = (bytes: Buffer) => {
        const { error } = JSON.parse(bytes.toString());
        answers.push(`${error.data.code}: ${error.message}`);
      };
      const asked = { request, connection, about, tell() {}, answer };
      fromServers.serverRequest(server, asked, session);
    },
    /** Creates a task of a session at the server. */
    make(session: SessionState, taskId: string) {
      const made = encodeResult('1', JSON.stringify({ task: { taskId } }));
      all.tasks.made(server, server, readAnswer(made), session);
    },
  };
}

const log = 'notifications/message';
const related = (taskId: string) => ({
  _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
});

describe('a request of a server goes to', () => {
  test('the client in whose call it arrives', () => {
    const one = scene();
    one.clients.caller = one.eve.caller;
    one.ask('roots/list', one.ada.caller);
    assert.deepEqual(one.heard, ['ada is asked: roots/list']);
    assert.deepEqual(one.advice, [], 'nothing is guessed');
  });

  test('otherwise the only client with calls in flight, and the operator is advised', () => {
    const one = scene();
    one.clients.caller = one.eve.caller;
    one.ask('roots/list');
    assert.deepEqual(one.heard, ['eve is asked: roots/list']);
    assert.equal(one.advice.length, 1);
  });

  test('a client of its connection, whoever has calls at another instance of the server', () => {
    const one = scene();
    const other = createScriptedServer({ name: 'own' });
    one.clients.caller = one.eve.caller;
    other.clients.caller = one.ada.caller;
    one.ask('roots/list', undefined, {}, undefined, other.running.upstream);
    assert.deepEqual(one.heard, ['ada is asked: roots/list']);
    other.clients.caller = 'none';
    one.ask('roots/list', undefined, {}, undefined, other.running.upstream);
    assert.equal(one.heard.length, 1, 'an instance that starts has no calls');
  });

  test('otherwise the only client that the server has ever served', () => {
    const one = scene();
    one.clients.owner = one.eve.session;
    one.ask('roots/list');
    assert.deepEqual(one.heard, ['eve is asked: roots/list']);
  });

  test('the client of its task, whoever has calls in flight', () => {
    const one = scene();
    one.clients.caller = one.eve.caller;
    one.make(one.ada.session, 't');
    one.ask('roots/list', undefined, related('t'));
    assert.deepEqual(one.heard, ['ada is asked: roots/list']);
  });

  test('the client whose task it is about, never about that of another', () => {
    const one = scene();
    one.clients.caller = one.eve.caller;
    const made = readAnswer(encodeResult('1', '{"task":{"taskId":"of-ada"}}'));
    one.tasks.askedAs(one.server, made, one.ada.session);
    one.ask('tasks/get', undefined, { taskId: 'of-ada' });
    one.ask('tasks/get', undefined, { taskId: 'unknown' });
    one.ask('tasks/list');
    assert.deepEqual(one.heard, ['ada is asked: tasks/get']);
    assert.equal(one.answers.length, 2);
  });

  test('the client of the instance, without advice to the operator', () => {
    const one = scene('session');
    one.ask('roots/list', undefined, {}, one.ada.session);
    assert.deepEqual(one.heard, ['ada is asked: roots/list']);
    assert.deepEqual(one.advice, []);
  });
});

describe('a request of a server is refused', () => {
  test.each([
    ['several', undefined, 'HUB_CLIENT_UNKNOWN', /several clients have calls in flight at own/],
    ['none', undefined, 'HUB_CLIENT_UNKNOWN', /own asked while it worked for no client/],
    ['none', 'none', 'HUB_CLIENT_UNKNOWN', /own asked while it worked for no client/],
    ['none', 'gone', 'HUB_CLIENT_GONE', /on behalf of a call that is over/],
  ] as const)('while %s have calls in flight, in the call of %s', (caller, about, code, why) => {
    const one = scene();
    one.clients.caller = caller;
    one.ask('roots/list', about);
    assert.deepEqual(one.heard, []);
    assert.equal(one.answers.length, 1);
    assert.ok(one.answers[0]?.startsWith(code));
    assert.match(one.answers[0] ?? '', why);
  });

  test('with a warning, unless the server sends it before it had a client', () => {
    const one = scene();
    one.ask('roots/list');
    one.clients.caller = 'several';
    one.ask('roots/list');
    const refused = 'a request to a client was refused';
    assert.deepEqual(one.logged(), [`debug: ${refused}`, `warn: ${refused}`]);
  });

  test('with at most 50 warnings a second, which have the beginning of a long method', () => {
    const one = scene();
    one.clients.caller = 'several';
    for (let times = 0; times < 100; times++) {
      one.ask(`vendor/${'x'.repeat(1_000)}`);
      one.ask('tools/list');
    }
    assert.equal(one.answers.length, 200);
    assert.equal(one.logged().length, 50);
    assert.ok(JSON.stringify(one.fields()).length < 50 * 300);
  });

  test('if its only client has left', () => {
    const one = scene();
    one.clients.owner = sessionOf();
    one.ask('roots/list');
    assert.deepEqual([one.heard, one.answers.length], [[], 1]);
  });

  test('if it belongs to no call, and the policy denies the server to its only client or the tool to the owner of its task', () => {
    const one = scene();
    one.denied.add(one.ada.session);
    one.clients.owner = one.ada.session;
    one.make(one.ada.session, 't');
    one.ask('roots/list');
    one.ask('roots/list', undefined, related('t'));
    one.ask('roots/list', undefined, {}, one.ada.session);
    assert.deepEqual([one.heard, one.answers.length], [[], 3]);
    one.ask('roots/list', one.ada.caller);
    assert.deepEqual(one.heard, ['ada is asked: roots/list'], 'a call that runs ends as usual');
  });

  test('without advice if it is not a method of clients', () => {
    const one = scene();
    one.ask('vendor/method');
    assert.deepEqual([one.answers.length, one.advice], [1, []]);
  });
});

describe('a notification of a server', () => {
  test('goes to the client in whose call it arrives, in that call', () => {
    const one = scene();
    one.notify(log, {}, one.ada.caller);
    assert.deepEqual(one.heard, [`ada is told in its call: ${log}`]);
  });

  test('outside calls goes to all its clients before the server has served one', () => {
    const one = scene();
    one.notify(log);
    assert.deepEqual(one.heard, [`ada is told: ${log}`, `eve is told: ${log}`]);
  });

  test('during a request of the hub goes to all its clients, whichever it has served', () => {
    const one = scene();
    one.clients.owner = 'several';
    one.notify(log, {}, 'none');
    assert.equal(one.heard.length, 2);
  });

  test('outside calls goes to no client if the instance has no session', () => {
    const one = scene('session');
    one.notify(log);
    assert.deepEqual(one.heard, []);
  });

  test('outside calls goes to no uninitialized client, and to none of another server', () => {
    const one = scene();
    one.ada.session.protocolVersion = undefined;
    one.notify(log);
    assert.deepEqual(one.heard, [`eve is told: ${log}`]);
  });

  test.each([
    ['several have calls in flight', undefined],
    ['its call is over', 'gone'],
  ] as const)('goes to no client if %s', (_, about) => {
    const one = scene();
    one.clients.caller = 'several';
    one.clients.owner = 'several';
    one.notify(log, {}, about);
    assert.deepEqual(one.heard, []);
    assert.match(one.logged().join(), /debug: .* was not passed on/);
  });

  test('about a task goes to its client', () => {
    const one = scene();
    one.make(one.ada.session, 't');
    one.notify(log, related('t'));
    one.notify('notifications/tasks/status', { taskId: 't' });
    one.notify('notifications/tasks/status', { taskId: 'unknown' });
    assert.deepEqual(one.heard, [`ada is told: ${log}`, 'ada is told: notifications/tasks/status']);
  });

  test('outside calls goes to no client to which the policy denies the server, or the tool of its task', () => {
    const one = scene();
    one.denied.add(one.ada.session);
    one.notify(log);
    assert.deepEqual(one.heard, [`eve is told: ${log}`]);
    one.clients.owner = one.ada.session;
    one.make(one.ada.session, 't');
    one.notify(log);
    one.notify(log, {}, undefined, one.ada.session);
    one.notify(log, related('t'));
    one.notify('notifications/tasks/status', { taskId: 't' });
    one.notify('notifications/tasks/status', { taskId: 't' }, undefined, one.ada.session);
    assert.equal(one.heard.length, 1);
  });

  test('about the task of a client to which the policy denies it goes to no other client', () => {
    const one = scene();
    one.denied.add(one.ada.session);
    one.make(one.ada.session, 't');
    one.notify(log, related('t'));
    one.notify(log, related('t'), 'none');
    assert.deepEqual(one.heard, []);
  });

  test('that a resource was updated goes to its subscribers', () => {
    const one = scene();
    const updated = 'notifications/resources/updated';
    one.subscriptions.add(one.server, 'x://a', one.eve.session, 'x://a');
    one.notify(updated, { uri: 'x://a' });
    one.notify(updated, { uri: 'x://b' });
    one.notify(updated, { uri: 7 });
    one.notify(updated);
    assert.deepEqual(one.heard, [`eve is told: ${updated}`]);
  });

  test('that cancels a request goes to the client that received the request', () => {
    const one = scene();
    one.notify('notifications/cancelled', { requestId: 1 });
    assert.deepEqual(one.withdrawn, ['of a session', 'of a call']);
    assert.deepEqual(one.heard, []);
  });

  const complete = 'notifications/elicitation/complete';

  test('that an elicitation is complete goes to the client that was sent there, once', () => {
    const one = scene();
    one.urlElicitations.add(one.ada.session, { source: one.server, id: 'e', about: undefined });
    one.clients.caller = one.eve.caller;
    for (let time = 0; time < 2; time++) one.notify(complete, { elicitationId: 'e' });
    one.notify(complete, { elicitationId: 7 });
    assert.deepEqual(one.heard, [`ada is told: ${complete}`]);
    const unknown = 'debug: no client waits for this page';
    assert.deepEqual(one.logged(), [unknown, unknown]);
  });

  test('that an elicitation is complete arrives in the call of the client, if that is in flight', () => {
    const one = scene();
    one.urlElicitations.add(one.ada.session, { source: one.server, id: 'e', about: undefined });
    one.clients.caller = one.ada.caller;
    one.notify(complete, { elicitationId: 'e' });
    assert.deepEqual(one.heard, [`ada is told in its call: ${complete}`]);
  });
});

describe('a notification of a client', () => {
  function fromClient(script: Parameters<typeof createScriptedServer>[1] = {}) {
    const there = createScriptedServer({ name: 'own' }, script);
    const { servers, clients, tasks } = createScriptedNeeds([there]);
    const { log: hubLog, logged } = createRecordingLog();
    const progressed: SessionState[] = [];
    const session: SessionState = {
      ...sessionOf({ endpoint: there.server }),
      protocolVersion: '2025-11-25',
    };
    there.clients.owner = session;
    const clientRequests = { progressed: (of: SessionState) => void progressed.push(of) };
    const notified = createFromClients({ servers, clients, clientRequests, tasks, log: hubLog });
    const tell = (method: string, params: object = {}, by = session) =>
      notified(notificationOf(method, params), by);
    return { ...there, session, progressed, logged, tell };
  }
  const changed = 'notifications/roots/list_changed';

  test('reaches a server that has served this client only, from either endpoint', () => {
    const one = fromClient();
    one.tell(changed);
    const all: SessionState = { ...one.session, endpoint: 'all' };
    one.clients.owner = all;
    one.tell(changed, {}, all);
    assert.deepEqual(one.forwarded, [changed, changed]);
  });

  test.each([
    ['one that served others, too', {}, 'several'],
    ['one that served nobody', {}, 'none'],
    ['one without sessions', { era: 'modern' }, undefined],
    ['one that does not run', { isRunning: false }, undefined],
  ] as const)('does not reach another server: %s', (_, script, owner) => {
    const one = fromClient(script);
    one.clients.owner = owner ?? one.session;
    one.tell(changed);
    assert.deepEqual(one.forwarded, []);
  });

  test('with the method of a request that a policy decides about reaches no server', () => {
    const one = fromClient();
    for (const method of ['tools/call', 'resources/read', 'notifications', 'Notifications/x'])
      one.tell(method, { name: 'denied' });
    one.tell('notifications/of/its/own');
    assert.deepEqual(one.forwarded, ['notifications/of/its/own']);
  });

  test('that it is initialized is for the hub, and so are all before it', () => {
    const one = fromClient();
    one.tell('notifications/initialized');
    one.session.protocolVersion = undefined;
    one.tell(changed);
    assert.deepEqual(one.forwarded, []);
  });

  test('about progress belongs to the request that the client answers', () => {
    const one = fromClient();
    one.tell('notifications/progress', { progressToken: 1 });
    assert.deepEqual([one.progressed.length, one.forwarded], [1, []]);
  });

  test('that cannot be sent to the server is logged', () => {
    const one = fromClient();
    one.running.upstream.forward = () => {
      throw new HubError('HUB_SERVER_DOWN', 'gone');
    };
    one.tell(changed);
    assert.deepEqual(
      one.logged.map(({ level, message }) => `${level}: ${message}`),
      ['debug: forwarding failed'],
    );
  });

  test('cancels only the request of its id, compared with its type', () => {
    const one = fromClient();
    const reasons: unknown[] = [];
    for (const id of ['1', '"1"']) {
      const cancellation = createCancellation();
      setWork(cancellation, { cancel: reason => void reasons.push([id, reason]) });
      one.session.inFlight.set(id, cancellation);
    }
    const cancelled = 'notifications/cancelled';
    for (const params of [{}, { requestId: 2 }, { requestId: '2' }]) one.tell(cancelled, params);
    one.tell(cancelled, { requestId: 1, reason: 'no need' });
    one.tell(cancelled, { requestId: '1', reason: 7 });
    assert.deepEqual(reasons, [
      ['1', 'no need'],
      ['"1"', undefined],
    ]);
  });
});
