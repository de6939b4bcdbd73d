import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import { isObject } from '#core';
import { type Certificate, createCertificates, readCertificate } from '#helpers/certificates';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, startHub, until } from '#helpers/hub-process';
import { startRedis } from '#helpers/redis';

const token = 'the-token-of-cursor';
const authorization = `Bearer ${token}`;

const configOf = (cursor: object) => ({
  tokens: 'optional',
  clients: { cursor },
  servers: {
    echo: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
      runtime: 'process',
    },
  },
});
const limited = (calls: number) => configOf({ token, rate: { calls, per: 3_600 } });

/** Number of concurrent calls. With more, a busy machine delays some for longer than a hub waits for Redis. */
const atOnce = 8;

/** Makes `count` calls and returns their HTTP statuses. */
async function callOften({ url }: HubProcess, count: number): Promise<readonly number[]> {
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'echo', arguments: { text: 'x' } });
  const path = `${url}/mcp/echo/tools/call`;
  const one = async () => {
    const answer = await fetch(path, { method: 'POST', headers, body });
    await answer.text();
    if (answer.status === 503) assert.ok(Number(answer.headers.get('retry-after')) > 0);
    return answer.status;
  };
  const statuses: number[] = [];
  while (statuses.length < count)
    statuses.push(...(await Promise.all(Array.from({ length: atOnce }, one))));
  return statuses;
}

const admitted = (statuses: readonly number[]) => statuses.filter(status => status === 200).length;

/** Returns state and backend of the part `limits` of /health. */
async function limitsOf(hub: HubProcess): Promise<unknown> {
  const health = await getJson(hub, '/health');
  return isObject(health) && isObject(health['parts']) && isObject(health['parts']['limits'])
    ? [health['parts']['limits']['state'], health['parts']['limits']['backend']]
    : undefined;
}

const countsAlone = 'limits of clients count the calls of this hub only';
const isAlone = (...hubs: readonly HubProcess[]) =>
  hubs.some(hub => hub.log().includes(countsAlone));

/** Maximum number of runs in which a hub may wait for Redis for too long. */
const maxAlone = 3;

describeWithEngine('two hubs with one Redis', () => {
  test('count the calls of a client together, count alone without it, and apply other limits at once', async () => {
    for (let alone = 0; !(await isShown()); alone++)
      assert.ok(alone < maxAlone, `a hub waited for Redis for too long in ${alone + 1} runs`);
  });

  /** Resolves to false if a hub did not get an answer of Redis in time, and said so: it may admit more calls then. */
  async function isShown(): Promise<boolean> {
    await using redis = await startRedis();
    const options = { config: limited(20), env: { REDIS_URL: redis.url } };
    await using one = await startHub(options);
    await using two = await startHub(options);
    assert.deepEqual(
      [await limitsOf(one), await limitsOf(two)],
      [
        ['up', 'redis'],
        ['up', 'redis'],
      ],
    );
    const statuses = await Promise.all([callOften(one, 64), callOften(two, 64)]);
    // The log line may come later than the answers.
    if (admitted(statuses.flat()) > 20)
      await until(
        async () => isAlone(one, two),
        said => said,
        2_000,
      ).catch(() => undefined); // No hub counted alone, so the assertion below fails.
    if (isAlone(one, two)) return false;
    assert.equal(admitted(statuses.flat()), 20);
    const answer = await fetch(`${one.url}/clients`, { headers: one.ownerHeaders });
    const shown: unknown = await answer.json();
    const refused = 64 - admitted(statuses[0]);
    assert.ok(isObject(shown) && Array.isArray(shown['clients']));
    assert.equal(shown['clients'][0].refused, refused);
    const metrics = await (await fetch(`${one.url}/metrics`)).text();
    assert.match(metrics, new RegExp(`outcome="HUB_LIMIT_REACHED"[^}]*} ${refused}\n`));
    await redis.kill();
    await until(
      () => limitsOf(one),
      part => JSON.stringify(part) === '["degraded","memory"]',
      15_000,
    );
    assert.equal(admitted(await callOften(one, 64)), 20 - admitted(statuses[0]));
    assert.equal(one.log().split(countsAlone).length, 2);
    await writeFile(one.configFile, JSON.stringify(configOf({ token })));
    const reload = await fetch(`${one.url}/config/reload`, {
      method: 'POST',
      headers: one.ownerHeaders,
    });
    assert.equal(reload.status, 200);
    assert.equal(admitted(await callOften(one, 64)), 64);
    assert.equal(await limitsOf(one), undefined);
    return true;
  }
});

const certificates = createCertificates();
afterAll(() => certificates[Symbol.dispose]());

test('a client with a certificate has the grants and limits of its entry, and needs no token', async () => {
  const authority = certificates.createAuthority('home');
  const server = authority.sign({ alternativeNames: 'DNS:localhost' });
  const cursor = authority.sign({ alternativeNames: 'DNS:cursor.home.lan' });
  const guest = authority.sign({ commonName: 'guest' });
  const config = { ...limited(3), tokens: 'required' };
  await using hub = await startHub({
    config: { ...config, clients: { cursor: { ...config.clients.cursor, administer: true } } },
    env: {
      ROUTER_TLS_CERT: server.certFile,
      ROUTER_TLS_KEY: server.keyFile,
      ROUTER_TLS_CLIENT_CA: authority.certFile,
      ROUTER_TLS_CLIENT_AUTH: 'requested',
    },
  });
  const ca = readFileSync(authority.certFile, 'utf8');
  const ask = async (
    path: string,
    certificate: Certificate | undefined,
    { body, bearer }: { readonly body?: object; readonly bearer?: string } = {},
  ) => {
    const outgoing = request(new URL(path, hub.url.replace('127.0.0.1', 'localhost')), {
      method: 'POST',
      ca,
      ...(certificate && readCertificate(certificate)),
      agent: false,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
    });
    outgoing.end(body && JSON.stringify(body));
    const [answer]: IncomingMessage[] = await once(outgoing, 'response');
    answer?.resume();
    return answer?.statusCode;
  };
  const call = { body: { name: 'echo', arguments: { text: 'x' } } };
  const path = '/mcp/echo/tools/call';
  assert.equal(await ask(path, undefined, call), 401);
  assert.equal(await ask(path, cursor, call), 200);
  assert.equal(await ask(path, cursor, { ...call, bearer: token }), 200);
  assert.equal(await ask(path, undefined, { ...call, bearer: token }), 200, 'the same client');
  assert.equal(await ask(path, cursor, call), 503, 'its fourth call');
  assert.equal(await ask(path, guest, call), 200, 'a client that the config does not list');
  assert.equal(await ask(path, guest, { ...call, bearer: token }), 403, 'the token of another');
  assert.equal(await ask('/config/reload', cursor), 200);
  assert.equal(await ask('/config/reload', guest), 401);
});
