import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isObject } from '#core';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';

const repository = '/somewhere/repository';

async function open(policy: readonly object[], servers: object = {}): Promise<HubProcess> {
  return await startHub({
    config: { servers, repositories: ['/somewhere'], policy },
    env: { OLLAMA_HOST: 'off', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  });
}

async function ask(hub: HubProcess, route: string, headers: object = {}) {
  const [method = '', path = ''] = route.split(' ');
  const body = {
    method,
    headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && {
      body: JSON.stringify(path === '/ollama/enhance' ? { prompt: 'sort a list' } : { repository }),
    }),
  };
  const answer = await fetch(`${hub.url}${path}`, body);
  const found: unknown = await answer.json();
  const error: { readonly code?: unknown } =
    isObject(found) && isObject(found['error']) ? found['error'] : {};
  return { status: answer.status, ...error };
}

/** Routes of callers that do what a tool does, with the public name of the tool. */
const routes = [
  ['GET /tasks', 'tasks_status'],
  ['GET /tasks/sum', 'tasks_status'],
  ['GET /tasks/sum/events', 'tasks_status'],
  ['GET /tasks/sum/diff', 'tasks_report'],
  ['GET /tasks/sum/reports/HALT.md', 'tasks_report'],
  ['POST /tasks', 'tasks_create'],
  ['POST /tasks/setup', 'tasks_setup'],
  ['POST /tasks/sum/run', 'tasks_run'],
  ['POST /tasks/sum/judge', 'tasks_report_judge'],
  ['POST /tasks/sum/cancel', 'tasks_cancel'],
  ['POST /pipelines/documentation', 'documentation_document_repository'],
  ['POST /ollama/enhance', 'agenthub_enhance_prompt'],
] as const;

describe('a client that the policy denies a tool', () => {
  let hub: HubProcess;
  beforeAll(async () => {
    hub = await open([{ clients: 'local', tools: routes.map(([, tool]) => tool), action: 'deny' }]);
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  test.for(routes)('is refused at %s like at the tool %s', async ([route, tool]) => {
    const refused = {
      status: 403,
      code: 'HUB_POLICY_DENIED',
      message: `policy denies the tool "${tool}" to local`,
      rule: 'policy[0]',
    };
    expect(await ask(hub, route)).toMatchObject(refused);
  });

  test.for(routes)('does not keep the owner from %s', async ([route]) => {
    expect((await ask(hub, route, hub.ownerHeaders)).code).not.toBe('HUB_POLICY_DENIED');
  });
});

test('a route whose tool needs a confirmation is refused with the way to get one, and audited', async () => {
  await using hub = await open([{ tools: 'tasks_run', action: 'confirm', reason: 'it costs' }]);
  expect(await ask(hub, 'POST /tasks/sum/run')).toMatchObject({
    status: 403,
    code: 'HUB_APPROVAL_NEEDED',
    message:
      'a person has to approve each call of tasks_run (it costs). Call the tool over MCP, which asks a person, or let the owner of the hub send this request',
  });
  const audit = await fetch(`${hub.url}/audit?denied=true`, { headers: hub.ownerHeaders });
  expect(await audit.text()).toContain('"path":"/tasks/sum/run","status":403');
  expect((await ask(hub, 'POST /tasks/sum/cancel')).code).toBe('HUB_REQUEST_INVALID');
});

test('each change by such a route has a line in the audit log, by whoever sent it', async () => {
  await using hub = await open([]);
  const changes = routes.filter(([route]) => route.startsWith('POST /')).map(([route]) => route);
  for (const route of changes) await ask(hub, route);
  const answer = await fetch(`${hub.url}/audit?client=local`, { headers: hub.ownerHeaders });
  const { lines } = z.object({ lines: z.array(z.looseObject({})) }).parse(await answer.json());
  expect(
    lines.toReversed().map(({ action, target, outcome }) => [action, target, outcome]),
  ).toEqual([
    ['task_create', undefined, 'HUB_CONTRACT_INVALID'],
    ['task_setup', undefined, 'HUB_REPOSITORY_UNKNOWN'],
    ['task_run', 'sum', 'HUB_REQUEST_INVALID'],
    ['task_judge', 'sum', 'HUB_REQUEST_INVALID'],
    ['task_cancel', 'sum', 'HUB_REQUEST_INVALID'],
    ['documentation_begun', undefined, 'HUB_REQUEST_INVALID'],
  ]);
});

/** Creates a token for the client `cursor`, and returns the headers of its requests. */
async function headersOfCursor(hub: HubProcess) {
  const made = await fetch(`${hub.url}/clients/cursor/token`, {
    method: 'POST',
    headers: hub.ownerHeaders,
  });
  const { token } = z.object({ token: z.string() }).parse(await made.json());
  return { authorization: `Bearer ${token}` };
}

test('requests to such routes count against the limits of a client, as the calls of their tools do', async () => {
  await using hub = await startHub({
    config: {
      servers: {},
      repositories: ['/somewhere'],
      clients: { cursor: { rate: { calls: 2, per: 60 } } },
    },
    env: { OLLAMA_HOST: 'off', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  });
  const headers = await headersOfCursor(hub);
  const statuses: number[] = [];
  for (const route of ['GET /tasks', 'POST /tasks/setup', 'GET /health'])
    statuses.push((await ask(hub, route, headers)).status);
  expect(statuses).toEqual([200, 404, 200]);
  expect(await ask(hub, 'GET /tasks/sum', headers)).toMatchObject({
    status: 503,
    code: 'HUB_LIMIT_REACHED',
    limit: 'clients.cursor.rate',
  });
  expect((await ask(hub, 'GET /tasks')).status).toBe(200);
});

test('the list of clients counts requests to such routes, and those that a limit or the policy refused', async () => {
  await using hub = await startHub({
    config: {
      servers: {},
      repositories: ['/somewhere'],
      clients: { cursor: { rate: { calls: 2, per: 60 } } },
      policy: [{ tools: 'tasks_run', action: 'deny' }],
    },
    env: { OLLAMA_HOST: 'off', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  });
  const headers = await headersOfCursor(hub);
  const statuses: number[] = [];
  for (const route of ['POST /tasks/sum/run', 'GET /tasks', 'GET /tasks', 'GET /tasks'])
    statuses.push((await ask(hub, route, headers)).status);
  expect(statuses).toEqual([403, 200, 200, 503]);
  const answer = await fetch(`${hub.url}/clients`, { headers: hub.ownerHeaders });
  expect(await answer.json()).toMatchObject({
    clients: [{ name: 'cursor', calls: 2, refused: 2 }],
  });
});

test('the list of clients counts requests of a client that administers the hub, which has no limits there', async () => {
  await using hub = await startHub({
    config: {
      servers: {},
      repositories: ['/somewhere'],
      clients: { cursor: { administer: true, rate: { calls: 1, per: 60 } } },
    },
    env: { OLLAMA_HOST: 'off', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  });
  const headers = await headersOfCursor(hub);
  for (let nth = 0; nth < 2; nth++)
    expect((await ask(hub, 'GET /tasks', headers)).status).toBe(200);
  const answer = await fetch(`${hub.url}/clients`, { headers: hub.ownerHeaders });
  expect(await answer.json()).toMatchObject({
    clients: [{ name: 'cursor', calls: 2, refused: 0 }],
  });
});

test('a rule about hints does not decide about a tool that is not offered, whose hints are unknown', async () => {
  await using hub = await open([{ annotations: { destructiveHint: true }, action: 'confirm' }]);
  expect(await ask(hub, 'POST /ollama/enhance')).toEqual({ status: 200 });
  expect((await ask(hub, 'POST /tasks/sum/cancel')).code).toBe('HUB_APPROVAL_NEEDED');
});

test('a rule about the built-in server holds if an entry of the config has its name', async () => {
  const servers = { tasks: { command: 'true', args: [], runtime: 'process' } };
  await using hub = await open(
    [{ clients: 'local', servers: 'tasks-builtin', action: 'deny' }],
    servers,
  );
  expect((await ask(hub, 'POST /tasks/sum/run')).code).toBe('HUB_POLICY_DENIED');
});
