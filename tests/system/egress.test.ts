import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import type { Instance } from '#runtimes';
import { askerOf, answering, createHub, docker, until } from '../runtimes/docker/hub.ts';
import { createWorld } from './egress-scene.ts';

/** Does what it is asked, and tells what it saw. */
const doing = answering(`async ({ kind, url, host, port, name, command, env }) => {
  const tried = async work => {
    try { return await work(); } catch (error) { return [error.cause?.code, error.code, error.cause?.message, error.message].find(one => typeof one === 'string'); }
  };
  if (kind === 'fetch') return await tried(async () => { const r = await fetch(url); return r.status + ' ' + (await r.text()).trim(); });
  if (kind === 'resolve') return await tried(async () => (await require('node:dns').promises.resolve4(name)).join());
  if (kind === 'lookup') return await tried(async () => (await require('node:dns').promises.lookup(name)).address);
  if (kind === 'run') {
    const { promise, resolve } = Promise.withResolvers();
    require('node:child_process').exec(command, { env: { ...process.env, ...env } }, (error, out, err) => resolve(error ? 'failed: ' + err + out : out.trim()));
    return await promise;
  }
  if (kind === 'counted') {
    const { promise, resolve } = Promise.withResolvers();
    const proxy = new URL(process.env.HTTP_PROXY);
    require('node:http').request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: host + ':' + port })
      .on('connect', (_, socket) => resolve(socket)).end();
    const socket = await promise;
    socket.write('GET /counted HTTP/1.0\\r\\n\\r\\n');
    let rest = Buffer.alloc(0);
    let next;
    let reads = 0;
    for await (const chunk of socket) {
      rest = Buffer.concat([rest, chunk]);
      const start = next === undefined ? rest.indexOf('\\r\\n\\r\\n') : 0;
      if (start < 0) continue;
      if (next === undefined) rest = rest.subarray(start + 4);
      next ??= 0;
      const whole = rest.length - (rest.length % 4);
      for (let at = 0; at < whole; at += 4)
        if (rest.readUInt32LE(at) !== next++) return 'wrong after ' + next;
      rest = rest.subarray(whole);
      if (++reads % 50 === 0) await new Promise(done => setTimeout(done, 20));
    }
    return 'right: ' + next + ' numbers';
  }
  if (kind === 'raw') {
    const { promise, resolve } = Promise.withResolvers();
    const socket = require('node:net').connect({ host, port, timeout: 1500 });
    let text = '';
    socket.on('connect', () => socket.write(name ?? 'ping'));
    socket.on('data', data => { text += data; socket.end(); });
    socket.on('timeout', () => { resolve('timeout'); socket.destroy(); });
    socket.on('error', error => resolve(error.code));
    socket.on('close', () => resolve(text || 'closed'));
    return await promise;
  }
}`);

const allow = [
  'api.test',
  '*.npm.test',
  'git.test:80',
  'other.test:8080',
  'db.internal:5432',
  'meta.internal:80',
  'meta.test',
  'inside.test',
  'nas.internal:443',
  '*.example',
];

describeWithEngine('a server with a list', () => {
  const repos = mkdtempSync(join(tmpdir(), 'agenthub-repos-'));
  let hub: ReturnType<typeof createHub>;
  let world: Awaited<ReturnType<typeof createWorld>>;
  let server: Instance;
  let other: Instance;
  let ask: (params: object) => Promise<unknown>;
  /** Addresses that a server must not reach, by what they are. */
  const places: Record<string, string> = {};

  beforeAll(async () => {
    hub = createHub();
    world = await createWorld(hub, repos);
    const mounts = existsSync('/usr/lib/git-core')
      ? [{ source: '/usr', target: '/host', readOnly: true }]
      : [];
    server = await hub.launch(hub.spec('fetcher', { ...doing, network: { allow }, mounts }));
    const listening = `${doing.args?.[1]}; require('node:net').createServer(s => s.end('other')).listen(7000)`;
    const args = ['-e', listening];
    other = await hub.launch(hub.spec('other', { ...doing, args, network: { allow: ['*'] } }));
    await world.attach();
    const asker = askerOf(server);
    ask = params => asker.ask('do', params);
    const forwarder = await docker.getContainer(`${hub.hubName}-.egress`).inspect();
    const networks = forwarder.NetworkSettings.Networks;
    const outside = networks[`${hub.hubName}-.egress`];
    places['the gateway of the forwarder'] = outside?.Gateway ?? '';
    places['the forwarder, in its own network'] = outside?.IPAddress ?? '';
    places['the forwarder, in the network of another server'] =
      networks[`${hub.hubName}-other`]?.IPAddress ?? '';
    places['another server'] =
      (await docker.getContainer(`${hub.hubName}-other`).inspect()).NetworkSettings.Networks[
        `${hub.hubName}-other`
      ]?.IPAddress ?? '';
    places['a machine outside'] = world.addresses.public;
    places['a machine inside'] = world.addresses.private;
    places['metadata'] = '169.254.169.254';
    const bridge = await docker.getNetwork('bridge').inspect();
    places['the gateway of the engine'] = bridge.IPAM?.Config?.[0]?.['Gateway'] ?? '172.17.0.1';
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
    await rm(repos, { recursive: true });
  });

  /** The refusals of a target so far. */
  const refusals = (target: string) =>
    hub.runtime.egress.report('fetcher')?.blocked.find(one => one.target === target);

  test.each([
    ['http://api.test/a?b', '200 GET api.test/a?b'],
    ['http://api.test:443/a', '200 GET api.test:443/a'],
    ['http://registry.npm.test/x', '200 GET registry.npm.test/x'],
    ['http://other.test:8080/x', '200 GET other.test:8080/x'],
    ['http://nas.internal:443/x', '200 GET nas.internal:443/x'],
  ])('reaches %s', async (url, expected) => {
    assert.equal(await ask({ kind: 'fetch', url }), expected);
  });

  test('receives all bytes in order, also when it reads slower than they come', async () => {
    const seen = await ask({ kind: 'counted', host: 'api.test', port: 80 });
    assert.equal(seen, `right: ${2 ** 23} numbers`);
  });

  test('reaches an exact target under its own name, without a proxy', async () => {
    assert.equal(await ask({ kind: 'raw', host: 'db.internal', port: 5432 }), 'db ping');
  });

  test.each([
    ['another name', 'http://www.api.test/', 'www.api.test:80', /is not in "network.allow"/],
    ['another port', 'http://api.test:8080/', 'api.test:8080', /is not in "network.allow"/],
    [
      'another port of an exact target',
      'http://db.internal:6379/',
      'db.internal:6379',
      /is not in/,
    ],
    ['a name below a name', 'http://a.git.test/', 'a.git.test:80', /is not in/],
    ['an address', 'http://203.0.113.1/', '203.0.113.1:80', /is not a name/],
    ['an address in decimal', 'http://3405803777/', '203.0.113.1:80', /is not a name/],
    [
      'an address in IPv6 notation',
      'http://[::ffff:203.0.113.1]/',
      '[::ffff:cb00:7101]:80',
      /is not a name/,
    ],
    [
      'a name with a private address',
      'http://inside.test/',
      'inside.test:80',
      /is a private address/,
    ],
    [
      'a name with a link-local address',
      'http://meta.test/',
      'meta.test:80',
      /link-local or metadata/,
    ],
    [
      'an exact target that is link-local',
      'http://meta.internal/',
      'meta.internal:80',
      /link-local or metadata/,
    ],
  ])('does not reach %s', async (_, url, target, why) => {
    const before = refusals(target)?.count ?? 0;
    assert.match(
      String(await ask({ kind: 'fetch', url })),
      /Request was cancelled|UND_ERR_ABORTED/,
    );
    await until('it is reported', () => (refusals(target)?.count ?? 0) > before);
    assert.match(refusals(target)?.why ?? '', why);
    const proxy = await ask({ kind: 'run', command: `node -e "${plainRequest}" ${url}` });
    assert.match(String(proxy), /^403 AgentHub: /);
    assert.match(String(proxy), why);
  });

  test('does not reach a name without an address, which is no refusal', async () => {
    const url = 'http://absent.example/';
    const seen = await ask({ kind: 'run', command: `node -e "${plainRequest}" ${url}` });
    assert.equal(seen, '502 AgentHub: absent.example:80 cannot be resolved');
    assert.equal(refusals('absent.example:80'), undefined);
  });

  test('does not reach any address directly', async () => {
    for (const [what, host] of Object.entries(places)) {
      assert.match(host, /^\d/, what);
      for (const port of [80, 3128, 6379, 6333, 7000, 9090, 11434])
        assert.equal(await ask({ kind: 'raw', host, port }), 'ENETUNREACH', `${what}, ${port}`);
    }
  });

  test('resolves no names: nothing leaves by DNS', async () => {
    for (const name of ['secret.tunnel.test', 'api.test', 'www.api.test']) {
      assert.match(
        String(await ask({ kind: 'resolve', name })),
        /^(ENOTFOUND|ESERVFAIL|ECONNREFUSED|ETIMEOUT)$/,
        name,
      );
      assert.match(String(await ask({ kind: 'lookup', name })), /^(ENOTFOUND|EAI_AGAIN)$/, name);
    }
  });

  test('does not reach other servers by the forwarder, whatever they may reach', async () => {
    const asker = askerOf(other);
    for (const url of [`http://${hub.hubName}-fetcher:7000/`, `http://${hub.hubName}-fetcher/`]) {
      const seen = await asker.ask('do', {
        kind: 'run',
        command: `node -e "${plainRequest}" ${url}`,
      });
      assert.match(String(seen), /^403 AgentHub: .*(is an address of servers|is not in)/);
    }
    assert.equal(
      await asker.ask('do', { kind: 'fetch', url: 'http://www.api.test/' }),
      '200 GET www.api.test/',
      'its own list is another one',
    );
  });

  describe('works with', () => {
    test('npm', async () => {
      const command =
        'cd /tmp && npm view tiny version --registry http://registry.npm.test --cache /tmp/c && npm pack tiny --silent --registry http://registry.npm.test --cache /tmp/c';
      assert.equal(await ask({ kind: 'run', command }), '1.0.0\ntiny-1.0.0.tgz');
    });

    test.skipIf(!existsSync('/usr/lib/git-core'))('git', async () => {
      const bare = join(repos, 'repo');
      execFileSync('git', ['init', '--quiet', '--bare', bare]);
      const tree = execFileSync('git', ['-C', bare, 'mktree'], { input: '' }).toString().trim();
      const who = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
      const commit = execFileSync('git', ['-C', bare, ...who, 'commit-tree', tree, '-m', 'first']);
      const id = commit.toString().trim();
      execFileSync('git', ['-C', bare, 'update-ref', 'HEAD', id]);
      execFileSync('git', ['-C', bare, 'update-server-info']);
      const env = {
        LD_LIBRARY_PATH: '/host/lib/x86_64-linux-gnu',
        GIT_EXEC_PATH: '/host/lib/git-core',
      };
      const command = '/host/bin/git ls-remote http://git.test/repo/ HEAD';
      assert.equal(await ask({ kind: 'run', command, env }), `${id}\tHEAD`);
      const refused = await ask({
        kind: 'run',
        command: command.replace('git.test', 'www.git.test'),
        env,
      });
      assert.match(String(refused), /403/);
    });

    test('requests, by the copy in pip', async () => {
      const script = `
import json, sys
from pip._vendor import requests
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = requests.get(request["params"]["url"])
        result = f"{answer.status_code} {answer.text.strip()}"
    except Exception as error:
        result = type(error).__name__
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)`;
      const instance = await hub.launch(
        hub.spec('python', {
          image: { reference: 'python:3.13-slim' },
          command: 'python',
          args: ['-c', script],
          network: { allow: ['api.test'] },
        }),
      );
      const asker = askerOf(instance);
      assert.equal(await asker.ask('x', { url: 'http://api.test/p' }), '200 GET api.test/p');
      assert.match(
        String(await asker.ask('x', { url: 'http://other.test/p' })),
        /^403 AgentHub: other\.test:80 is not in "network.allow" of the server python$/,
      );
      await instance.stop({ graceMs: 500 });
    });
  });

  test('has its list changed while it runs, which ends connections that are not allowed any more', async () => {
    const url = 'http://other.test/';
    const rejected = /Request was cancelled|UND_ERR_ABORTED/;
    assert.match(String(await ask({ kind: 'fetch', url })), rejected);
    await hub.runtime.egress.allow('fetcher', { allow: [...allow, 'other.test'] });
    assert.equal(await ask({ kind: 'fetch', url }), '200 GET other.test/');
    const before = hub.runtime.egress.report('fetcher')?.allowed ?? 0;
    const endless = ask({ kind: 'fetch', url: 'http://other.test/endless' });
    await until('it downloads', () => hub.runtime.egress.report('fetcher')?.allowed === before + 1);
    await hub.runtime.egress.allow('fetcher', { allow });
    assert.match(String(await endless), /terminated|UND_ERR_SOCKET|other side closed/);
    assert.match(String(await ask({ kind: 'fetch', url })), rejected);
  });
});

/** Sends a plain request to the proxy, as curl does: its answer tells why it was refused. */
const plainRequest =
  "const u=process.argv[1];const p=new URL(process.env.HTTP_PROXY);const s=require('net').connect(p.port,p.hostname,()=>s.write('GET '+u+' HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'));let t='';s.on('data',d=>t+=d).on('end',()=>console.log(t.split(' ')[1]+' '+/AgentHub: .*/.exec(t)))";
