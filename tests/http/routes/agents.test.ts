import { request } from 'node:http';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import type { AgentMessage, Agents } from '#agents';
import { openCaller } from '#policy';
import { agentRoutes } from '../../../hub/http/routes/agents.ts';

type Guarded = {
  readonly messages?: Agents['messages'];
  readonly refuse?: (request: FastifyRequest, reply: FastifyReply) => boolean;
};

/** Serves the routes of agents with one file, which opens when `opened` resolves. */
async function serve(
  opened: Promise<void>,
  asked: () => void,
  { messages, refuse = () => false }: Guarded = {},
) {
  const closed = Promise.withResolvers<void>();
  const open: Agents['files']['open'] = async () => {
    asked();
    await opened;
    async function* chunks() {
      yield Buffer.from('hello');
    }
    return {
      bytes: 5,
      chunks: chunks(),
      [Symbol.asyncDispose]: async () => closed.resolve(),
    };
  };
  const app = fastify();
  const left = Promise.withResolvers<void>();
  app.addHook('onRequest', async (_request, { raw }) => void raw.once('close', left.resolve));
  const absent = (): never => {
    throw new Error('only files are asked for');
  };
  const agents: Agents = {
    service: { start: absent, stop: absent },
    refusal: undefined,
    list: absent,
    get: absent,
    send: absent,
    messages: messages ?? absent,
    cancel: absent,
    configure: absent,
    stop: absent,
    remove: absent,
    events: absent,
    files: { list: absent, open },
  };
  const admission = { principalOf: () => openCaller, refuse };
  agentRoutes(app, { agents, admission, follow: absent });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    closed: closed.promise,
    left: left.promise,
    [Symbol.asyncDispose]: () => app.close(),
  };
}

test('a file is sent, and closed', async () => {
  await using served = await serve(Promise.resolve(), () => {});
  const answer = await fetch(`${served.url}/agents/ada/files/a.txt`);
  expect(await answer.text()).toBe('hello');
  await served.closed;
});

test('a file is closed if its client disconnected before it was open', async () => {
  const asked = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  await using served = await serve(opened.promise, asked.resolve);
  const client = request(`${served.url}/agents/ada/files/a.txt`).end();
  client.on('error', () => {});
  await asked.promise;
  client.destroy();
  await served.left;
  opened.resolve();
  await served.closed;
});

test('a client that may no longer administer the hub gets no conversation that it waited for', async () => {
  let mayAdminister = true;
  const refuse = (_request: FastifyRequest, reply: FastifyReply) => {
    if (mayAdminister) return false;
    reply.code(403).send({ error: 'only the owner' });
    return true;
  };
  const messages: Agents['messages'] = async () => {
    mayAdminister = false;
    return { agentId: 'ada', status: 'idle', messages: [], waiting: [], failures: [] };
  };
  await using served = await serve(Promise.resolve(), () => {}, { messages, refuse });
  const answer = await fetch(`${served.url}/agents/ada/messages?wait_seconds=300`);
  expect([answer.status, await answer.json()]).toEqual([403, { error: 'only the owner' }]);
});

test('a conversation has the messages that wait, if there are any', async () => {
  const at = '2026-01-02T03:04:05.000Z';
  const message: AgentMessage = { message_id: 'a', role: 'user', at, content: [] };
  const waiting = [message];
  const messages: Agents['messages'] = async () => ({
    agentId: 'ada',
    status: 'running',
    messages: [],
    waiting: waiting.splice(0),
    failures: [],
  });
  await using served = await serve(Promise.resolve(), () => {}, { messages });
  const answer = async () => await (await fetch(`${served.url}/agents/ada/messages`)).json();
  const empty = { agent_id: 'ada', status: 'running', messages: [] };
  expect(await answer()).toEqual({ ...empty, waiting: [message] });
  expect(await answer()).toEqual(empty);
});

test.for([
  [{}, 'message: is missing: send {"message": "text"}'],
  [['text'], 'message: is missing: send {"message": "text"}'],
  [{ message: 5 }, 'message: 5 is not allowed: send {"message": "text"}'],
  [{ text: 'x' }, 'text: is not a member of this body, which takes message'],
  [
    { ['x'.repeat(100)]: 'x' },
    `${'x'.repeat(60)}...: is not a member of this body, which takes message`,
  ],
] as const)('the message %j is refused with a remedy', async ([body, message]) => {
  await using served = await serve(Promise.resolve(), () => {});
  const answer = await fetch(`${served.url}/agents/ada/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(await answer.json()).toMatchObject({ code: 'HUB_REQUEST_INVALID', message });
});
