import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, test, vi } from 'vitest';
import { isObject } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, startHub } from '#helpers/hub-process';
import { type OtlpReceiver, startOtlp } from '../doubles/otlp.ts';
import { docker } from '../runtimes/docker/hub.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');
const random = () => randomUUID().slice(0, 13);

/** Secrets, each planted in a different place. */
const planted = {
  named: `planted-named-${random()}`,
  neutral: `planted-neutral-${random()}`,
  option: `planted-option-${random()}`,
  header: `planted-header-${random()}`,
  password: `planted-password-${random()}`,
  exported: `planted-exported-${random()}`,
  router: `planted-router-${random()}`,
  /** Secrets in the arguments of a call, which the hub recognizes by field name (`password`) or shape (`ghp_`). */
  argument: `planted-argument-${random()}`,
  shaped: `ghp_plantedShaped${random().replaceAll('-', '')}`,
};
const given = { password: planted.argument, nested: { text: `it is ${planted.shaped}` } };
const hubName = `planted-${random().slice(0, 8)}`;

let hub: HubProcess;
let receiver: OtlpReceiver;
let session = '';

/** A remote server that answers with the headers of the request. */
const far = createServer((request, response) =>
  response.writeHead(401).end(`refused: ${JSON.stringify(request.headers)}`),
);

const authorization = `Bearer ${planted.router}`;
/** How long data may take to arrive over another connection, in ms. */
const soon = { timeout: 10_000 };

async function page(path: string): Promise<string> {
  const answer = await fetch(`${hub.url}${path}`, { headers: hub.ownerHeaders });
  return `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`;
}

async function post(method: string, params: object): Promise<string> {
  const answer = await fetch(`${hub.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  session ||= answer.headers.get('mcp-session-id') ?? '';
  return await answer.text();
}

const call = (name: string) => post('tools/call', { name, arguments: given });

/** Fails with the names of the secrets that a text contains, without printing the text. */
function assertClean(text: string, where: string): void {
  assert.ok(text.length > 0, `${where} says nothing`);
  const shown = Object.entries(planted).filter(([, value]) => text.includes(value));
  assert.deepEqual(
    shown.map(([name, value]) => {
      const at = text.indexOf(value);
      return `${name}: ${text.slice(Math.max(0, at - 80), at)}`;
    }),
    [],
    where,
  );
}

describeWithEngine('secrets that were planted', () => {
  beforeAll(async () => {
    receiver = await startOtlp();
    far.listen(0, '127.0.0.1');
    await new Promise(resolve => far.once('listening', resolve));
    const address = far.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const env = {
      API_TOKEN: '${PLANTED_NAMED}',
      SETTING: '${PLANTED_NEUTRAL}',
      DATABASE: `postgres://user:${planted.password}@localhost/db`,
      SECRETS: 'API_TOKEN,SETTING,DATABASE',
    };
    hub = await startHub({
      config: {
        servers: {
          boxed: {
            image: 'node:24-bookworm-slim',
            command: 'node',
            args: ['/fixtures/leaky.mjs', '--api-key', '${PLANTED_OPTION}'],
            mounts: [{ source: fixtures, target: '/fixtures' }],
            env,
            auto_start: true,
            timeout: 1,
          },
          dying: {
            runtime: 'process',
            command: process.execPath,
            args: [join(fixtures, 'leaky.mjs')],
            env: { ...env, LEAK_AT_START: '1' },
            auto_start: true,
            max_restarts: 0,
          },
          far: {
            url: `http://127.0.0.1:${port}/mcp`,
            headers: { Authorization: 'Bearer ${PLANTED_HEADER}' },
            auto_start: true,
            max_restarts: 0,
          },
        },
      },
      env: {
        HUB_NAME: hubName,
        LOG_LEVEL: 'trace',
        ROUTER_TOKEN: planted.router,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: `x-tenant=${planted.exported}`,
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_METRIC_EXPORT_INTERVAL: '300',
        PLANTED_NAMED: planted.named,
        PLANTED_NEUTRAL: planted.neutral,
        PLANTED_OPTION: planted.option,
        PLANTED_HEADER: planted.header,
      },
    });
    const clientInfo = { name: `tester ${planted.shaped}`, version: '1' };
    await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    const state = async (name: string) => {
      const answer: unknown = JSON.parse(
        (await page(`/servers/${name}`)).replace(/^.*?\] \{/s, '{'),
      );
      return isObject(answer) ? answer['state'] : undefined;
    };
    await vi.waitFor(
      async () => {
        assert.equal(await state('boxed'), 'running');
        assert.equal(await state('dying'), 'failed');
        assert.equal(await state('far'), 'failed');
      },
      { timeout: 60_000, interval: 200 },
    );
  }, 120_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await receiver?.[Symbol.asyncDispose]();
    far.close();
  });

  test('reach the server and come back to the client, who has sent them', async () => {
    const answer = await call('boxed_leak');
    for (const value of [planted.named, planted.neutral, planted.password, planted.argument])
      assert.ok(answer.includes(value), value);
  });

  test('stay out of the log, whatever servers send and however calls end', async () => {
    for (const tool of ['refuse', 'silent', 'die', 'unknown']) await call(`boxed_${tool}`);
    await call(`boxed_${planted.shaped}`);
    await post('resources/read', { uri: `note://x?token=${planted.argument}` });
    await page(`/nowhere?token=${planted.argument}`);
    await fetch(`${hub.url}/servers?token=${planted.argument}`);
    const log = await vi.waitFor(() => {
      for (const line of ['"stderr"', 'a call timed out', 'HUB_SERVER_DOWN'])
        assert.ok(hub.log().includes(line), line);
      return hub.log();
    }, soon);
    assertClean(log, 'the log');
  });

  test.each([
    '/servers',
    '/servers/boxed',
    '/servers/dying',
    '/servers/far',
    '/servers/boxed/logs',
    '/servers/dying/logs',
    '/health',
    '/health/boxed',
    '/health/dying',
    '/metrics',
    '/activity',
    '/dashboard',
    '/dashboard/health-partial',
    '/dashboard/stats-partial',
    '/dashboard/activity-partial',
    '/dashboard/activity',
    '/dashboard/caches',
    '/dashboard/sessions',
    '/dashboard/install',
    '/dashboard/servers/boxed',
    '/dashboard/servers/boxed?tab=log',
    '/dashboard/servers/boxed?tab=details',
    '/dashboard/servers/boxed/tool?name=silent',
    '/dashboard/servers/dying',
    '/dashboard/servers/dying?tab=log',
    '/dashboard/servers/far',
  ])('stay out of %s', async path => {
    const text = await page(path);
    assert.match(text, /^(200|503)/);
    assertClean(text, path);
  });

  test('stay out of the stored activity of each call', async () => {
    const answer = await page('/activity');
    const ids = [...answer.matchAll(/"id":"?([\w-]+)/g)].flatMap(([, id]) => id ?? []);
    assert.ok(ids.length >= 5, answer);
    for (const id of ids) {
      assertClean(await page(`/activity/${id}`), `/activity/${id}`);
      assertClean(await page(`/dashboard/activity/${id}`), `/dashboard/activity/${id}`);
    }
  });

  test('stay out of traces and metrics', async () => {
    await vi.waitFor(() => {
      assert.ok(receiver.spans.some(({ name }) => name === 'tools/call boxed_leak'));
      assert.ok(receiver.metrics.has('agenthub_calls_total'));
    }, soon);
    assertClean(receiver.bodies.join('\n'), 'OTLP');
  });

  test('stay out of the labels of containers', async () => {
    // The hub restarts the container that died.
    const mine = await vi.waitFor(
      async () => {
        const all = await docker.listContainers({ all: true });
        const found = all.filter(({ Names: names }) => names.some(name => name.includes(hubName)));
        assert.ok(found.length > 0);
        return found;
      },
      { timeout: 20_000, interval: 100 },
    );
    for (const { Id: id } of mine) {
      const { Name: name, Config: config } = await docker.getContainer(id).inspect();
      assertClean(JSON.stringify([name, config.Labels]), 'labels');
    }
  });
});
