import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, settled, startHub, until } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const fixtures = join(root, 'tests', 'fixtures', 'servers');
const prometheusConfig = join(root, 'compose', 'prometheus', 'prometheus.yml');
const token = 'a-token-of-the-tests';

/** Returns a value of parsed JSON by its dotted path. */
const within = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((from, key) => (isObject(from) ? from[key] : undefined), value);

const listIn = (value: unknown, path: string): readonly unknown[] => {
  const found = within(value, path);
  return Array.isArray(found) ? found : [];
};

const dashboard: unknown = JSON.parse(
  readFileSync(join(root, 'compose', 'grafana', 'dashboards', 'agenthub.json'), 'utf8'),
);
const panels = listIn(dashboard, 'panels');
/** Queries of the dashboard's panels, with values for Grafana's variables. */
const queries = panels
  .flatMap(panel => listIn(panel, 'targets'))
  .map(target => String(within(target, 'expr')))
  .map(query => query.replaceAll('$__rate_interval', '1m').replaceAll('$server', '.*'));
const metricsAskedFor = new Set(
  queries.flatMap(query => query.match(/\b(?:agenthub|process)_[a-z_]+/g) ?? []),
);

describe('the dashboard for Grafana', () => {
  test('asks the data source that is provisioned with it, and nothing twice', () => {
    const source = readFileSync(
      join(root, 'compose', 'grafana', 'datasources', 'agenthub.yml'),
      'utf8',
    );
    const uids = panels
      .flatMap(panel => [panel, ...listIn(panel, 'targets')])
      .map(part => within(part, 'datasource.uid'))
      .filter(uid => uid !== undefined);
    assert.deepEqual([...new Set(uids)], ['agenthub-prometheus']);
    assert.match(source, /uid: agenthub-prometheus/);
    assert.equal(new Set(queries).size, queries.length - 1, 'sessions: a number and a line');
    const ids = panels.map(panel => within(panel, 'id'));
    assert.equal(new Set(ids).size, panels.length);
  });

  test('has panels of one row beside each other, and none over another', () => {
    const taken = new Set<string>();
    for (const panel of panels) {
      const [x = 0, y = 0, w = 0, h = 0] = ['x', 'y', 'w', 'h'].map(key =>
        Number(within(panel, `gridPos.${key}`)),
      );
      assert.ok(x + w <= 24, String(within(panel, 'title')));
      for (let column = x; column < x + w; column++)
        for (let line = y; line < y + h; line++) {
          assert.ok(!taken.has(`${column}/${line}`), String(within(panel, 'title')));
          taken.add(`${column}/${line}`);
        }
    }
  });
});

describeWithEngine('compose/observability.yml', () => {
  const added = ['grafana', 'jaeger', 'prometheus'];
  const texts = new Map<string, Promise<string>>();
  const read = async (env: Readonly<Record<string, string>>) => {
    const files = ['docker-compose.yml', 'compose/observability.yml'];
    const args = ['compose', ...files.flatMap(file => ['-f', file]), 'config', '--format', 'json'];
    return (await run('docker', args, { cwd: root, env: { ...process.env, ...env } })).stdout;
  };
  /** Returns the compose config with these variables, as docker compose resolves it. Cached. */
  const composition = async (env: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const key = JSON.stringify(env);
    const text = texts.get(key) ?? read(env);
    texts.set(key, text);
    return JSON.parse(await text);
  };

  test('adds three, pinned, hardened and with a health check each', async () => {
    const whole = await composition();
    const services = within(whole, 'services');
    assert.ok(isObject(services));
    for (const name of added) {
      const service: unknown = services[name];
      assert.match(String(within(service, 'image')), /^[a-z/]+:v?\d+\.\d+\.\d+$/, name);
      assert.equal(within(service, 'read_only'), true, name);
      assert.deepEqual(within(service, 'cap_drop'), ['ALL'], name);
      assert.deepEqual(within(service, 'security_opt'), ['no-new-privileges:true'], name);
      assert.match(String(within(service, 'user')), /^[1-9]\d*:\d+$/, name);
      assert.ok(within(service, 'healthcheck'), name);
      const volumes = JSON.stringify(within(service, 'volumes') ?? []);
      assert.ok(!volumes.includes('docker.sock'), name);
    }
  });

  test('publishes what people open on the loopback address, and Prometheus not at all', async () => {
    const whole = await composition();
    for (const name of added)
      for (const port of listIn(whole, `services.${name}.ports`))
        assert.equal(within(port, 'host_ip'), '127.0.0.1', name);
    const published = added.filter(name => listIn(whole, `services.${name}.ports`).length > 0);
    assert.deepEqual(published, ['grafana', 'jaeger']);
  });

  test('joins the hub by a network of its own, which has no way out', async () => {
    const whole = await composition();
    for (const name of added) {
      const networks = Object.keys(Object(within(whole, `services.${name}.networks`)));
      assert.deepEqual(
        networks.filter(network => !['watched', 'watching'].includes(network)),
        [],
        name,
      );
    }
    assert.ok('watched' in Object(within(whole, 'services.hub.networks')));
    assert.ok('edge' in Object(within(whole, 'services.hub.networks')));
    assert.ok(!('watching' in Object(within(whole, 'services.hub.networks'))));
    assert.equal(within(whole, 'networks.watched.internal'), true);
  });

  test('lets the hub be asked by its name, beside those that it has, and sends traces', async () => {
    const hostsOf = async (env?: Readonly<Record<string, string>>) =>
      within(await composition(env), 'services.hub.environment.ROUTER_ALLOWED_HOSTS');
    assert.equal(await hostsOf(), 'hub');
    assert.equal(await hostsOf({ ROUTER_ALLOWED_HOSTS: 'hub.example' }), 'hub.example,hub');
    assert.equal(
      within(await composition(), 'services.hub.environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
      'http://jaeger:4318/v1/traces',
    );
  });

  test('hands the port and the token of the hub to Prometheus', async () => {
    const whole = await composition({ ROUTER_PORT: '9191', ROUTER_TOKEN: token });
    const environment = within(whole, 'services.prometheus.environment');
    assert.deepEqual(environment, { ROUTER_PORT: '9191', ROUTER_TOKEN: token });
    assert.match(readFileSync(prometheusConfig, 'utf8'), /- targets: \['hub:9090'\]/);
  });
});

/** True if a program of Debian's package `prometheus` is installed. */
function has(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describeWithEngine('what a hub tells Prometheus', () => {
  const hubName = `observed-${process.pid}`;
  let hub: HubProcess;
  let ollama: OllamaDouble;
  let folder = '';
  const metrics = async () => {
    const answer = await fetch(`${hub.url}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(answer.status, 200);
    return await answer.text();
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agenthub-observed-'));
    const echo = {
      image: 'node:24-bookworm-slim',
      command: 'node',
      args: ['/fixtures/echo.mjs'],
      mounts: [{ source: fixtures, target: '/fixtures' }],
      auto_start: true,
    };
    ollama = await startOllama();
    hub = await startHub({
      config: { servers: { echo } },
      env: { HUB_NAME: hubName, OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'llama3.2:3b' },
    });
    await settled(hub, 60_000);
    await using client = await connect(`${hub.url}/mcp`);
    await client.toolNames();
    await client.call('echo_echo', { text: 'once' });
    await assert.rejects(client.call('echo_absent'));
    // Metrics of prompt caches and models exist only after a prompt was improved.
    await fetch(`${hub.url}/ollama/enhance`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'fix the parser' }),
    });
  }, 120_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await ollama.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('has all that the dashboard asks for', async () => {
    const told = new Set((await metrics()).match(/^(?:agenthub|process)_[a-z_]+/gm));
    assert.ok(metricsAskedFor.size >= 15, [...metricsAskedFor].join(' '));
    for (const name of metricsAskedFor)
      assert.ok(told.has(name), `${name} in ${[...told].join(' ')}`);
  });

  describe.skipIf(!has('promtool'))('and promtool, where it is installed,', () => {
    test('finds nothing to complain of in it', async () => {
      const text = await metrics();
      execFileSync('promtool', ['check', 'metrics'], { input: text });
    });

    test('understands the config, and every query of the dashboard', () => {
      execFileSync('promtool', ['check', 'config', '--syntax-only', prometheusConfig]);
      const rules = queries.map((expr, at) => ({ record: `query_${at}`, expr }));
      const file = join(folder, 'rules.yml');
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
      execFileSync('promtool', ['check', 'rules', file]);
    });
  });

  test.skipIf(!has('prometheus'))(
    'is fetched by a real Prometheus, where it is installed, which answers the dashboard',
    async () => {
      const port = await freePort();
      const config = readFileSync(prometheusConfig, 'utf8')
        .replace('hub:9090', new URL(hub.url).host)
        .replace('scrape_interval: 15s', 'scrape_interval: 1s')
        .replace('scrape_timeout: 10s', 'scrape_timeout: 1s')
        .replace('/tmp/token', join(folder, 'token'));
      writeFileSync(join(folder, 'token'), token);
      writeFileSync(join(folder, 'prometheus.yml'), config);
      const prometheus = spawn(
        'prometheus',
        [
          `--config.file=${join(folder, 'prometheus.yml')}`,
          `--storage.tsdb.path=${join(folder, 'tsdb')}`,
          `--web.listen-address=127.0.0.1:${port}`,
        ],
        { stdio: 'ignore' },
      );
      try {
        const ask = async (query: string): Promise<unknown> => {
          const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
          // Prometheus answers 503 with a text until it is ready.
          return await fetch(url).then(
            answer => (answer.ok ? answer.json() : undefined),
            () => undefined,
          );
        };
        const results = async (query: string) => listIn(await ask(query), 'data.result').length;
        await until(
          () => results('count_over_time(up{job="agenthub"}[1m]) > 2 and up == 1'),
          found => found === 1,
          20_000,
        );
        for (const query of queries) {
          assert.equal(within(await ask(query), 'status'), 'success', query);
          // Queries for waiting calls have no result here.
          if (!query.includes('> 0')) assert.ok((await results(query)) > 0, query);
        }
      } finally {
        prometheus.kill('SIGTERM');
        await once(prometheus, 'exit');
      }
    },
  );
});
