import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createCertificates } from '#helpers/certificates';
import { describeWithEngine } from '#helpers/engine';
import type { Instance } from '#runtimes';
import { askerOf, answering, createHub, docker, until } from '../runtimes/docker/hub.ts';
import { createWorld } from './egress-scene.ts';
import { createWheel } from './wheel.ts';

/** Performs a network operation by its kind, and returns the result or the error. */
const doing = answering(`async ({ kind, url, host, port, name, command, env }) => {
  const tried = async work => {
    try { return await work(); } catch (error) { return [error.cause?.code, error.code, error.cause?.message, error.message].find(one => typeof one === 'string'); }
  };
  if (kind === 'fetch') return await tried(async () => { const r = await fetch(url); return r.status + ' ' + (await r.text()).trim(); });
  if (kind === 'resolve') return await tried(async () => (await require('node:dns').promises.resolve4(name)).join());
  if (kind === 'lookup') return await tried(async () => (await require('node:dns').promises.lookup(name)).address);
  if (kind === 'plain') {
    const proxy = new URL(process.env.HTTP_PROXY);
    const socket = require('node:net').connect(proxy.port, proxy.hostname);
    socket.write('GET ' + url + ' HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n');
    let all = '';
    for await (const chunk of socket) all += chunk;
    return all.split(' ')[1] + ' ' + all.split('\\r\\n').at(-1).trim();
  }
  if (kind === 'secure') {
    const { promise, resolve } = Promise.withResolvers();
    require('node:https').get(url, { rejectUnauthorized: false }, async answer => {
      let all = '';
      for await (const chunk of answer) all += chunk;
      resolve(all);
    }).on('error', error => resolve(error.message));
    return await promise;
  }
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
  'git.test:8443',
  'other.test:8080',
  'db.internal:5432',
  'meta.internal:80',
  'meta.test',
  'inside.test',
  'nas.internal:443',
  '*.example',
];

describeWithEngine('a server with a list', () => {
  const files = mkdtempSync(join(tmpdir(), 'agenthub-files-'));
  const certificates = createCertificates();
  let hub: ReturnType<typeof createHub>;
  let world: Awaited<ReturnType<typeof createWorld>>;
  let server: Instance;
  let other: Instance;
  let ask: (params: object) => Promise<unknown>;
  /** Addresses that a server must not reach, by a description. */
  const places: Record<string, string> = {};

  beforeAll(async () => {
    hub = createHub();
    const certificate = certificates.createAuthority('outside').sign({ commonName: 'git.test' });
    world = await createWorld({ files, certificate });
    const mounts = existsSync('/usr/lib/git-core')
      ? [{ source: '/usr', target: '/host', readOnly: true }]
      : [];
    server = await hub.launch(hub.spec('fetcher', { ...doing, network: { allow }, mounts }));
    const listening = `${doing.args?.[1]}; require('node:net').createServer(s => s.end('other')).listen(7000)`;
    const args = ['-e', listening];
    other = await hub.launch(hub.spec('other', { ...doing, args, network: { allow: ['*'] } }));
    await world.attach(hub);
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
    await world?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
    certificates[Symbol.dispose]();
    await rm(files, { recursive: true });
  });

  /** Returns the refusals of a target so far. */
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
    const told = await ask({ kind: 'plain', url });
    assert.match(String(told), /^403 AgentHub: /);
    assert.match(String(told), why);
  });

  test('does not reach a name without an address, which is no refusal', async () => {
    const url = 'http://absent.example/';
    const seen = await ask({ kind: 'plain', url });
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
      const seen = await asker.ask('do', { kind: 'plain', url });
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

    test.skipIf(!existsSync('/usr/lib/git-core'))('git, by HTTP and HTTPS', async () => {
      const bare = join(files, 'repo');
      execFileSync('git', ['init', '--quiet', '--bare', bare]);
      const tree = execFileSync('git', ['-C', bare, 'mktree'], { input: '' }).toString().trim();
      const who = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
      const commit = execFileSync('git', ['-C', bare, ...who, 'commit-tree', tree, '-m', 'first']);
      const id = commit.toString().trim();
      execFileSync('git', ['-C', bare, 'update-ref', 'HEAD', id]);
      const env = {
        LD_LIBRARY_PATH: '/host/lib/x86_64-linux-gnu',
        GIT_EXEC_PATH: '/host/lib/git-core',
        GIT_SSL_NO_VERIFY: '1',
      };
      const clone = (url: string, folder: string) => {
        const git = '/host/bin/git';
        const command = `${git} clone --quiet ${url} ${folder} && ${git} -C ${folder} rev-parse HEAD`;
        return ask({ kind: 'run', command, env });
      };
      assert.equal(await clone('http://git.test/git/repo', '/tmp/plain'), id);
      assert.equal(await clone('https://git.test:8443/git/repo', '/tmp/secure'), id);
      assert.match(String(await clone('http://www.git.test/git/repo', '/tmp/refused')), /403/);
    });

    test('HTTPS, whose certificate is that of the target', async () => {
      const url = 'https://git.test:8443/x';
      assert.equal(await ask({ kind: 'secure', url }), 'GET git.test:8443/x');
    });

    test('pip and requests', async () => {
      mkdirSync(join(files, 'tiny'));
      const wheel = 'tiny-1.0.0-py3-none-any.whl';
      writeFileSync(join(files, 'tiny', 'index.html'), `<a href="${wheel}">${wheel}</a>`);
      writeFileSync(join(files, 'tiny', wheel), createWheel('tiny', '1.0.0'));
      const script = `
import json, subprocess, sys
from pip._vendor import requests
for line in sys.stdin:
    request = json.loads(line)
    params = request["params"]
    try:
        if "words" in params:
            done = subprocess.run([sys.executable, "-m", *params["words"]], capture_output=True, text=True)
            result = (done.stdout + done.stderr).strip()
        else:
            answer = requests.get(params["url"])
            result = f"{answer.status_code} {answer.text.strip()}"
    except Exception as error:
        result = type(error).__name__
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)`;
      const instance = await hub.launch(
        hub.spec('python', {
          image: { reference: 'python:3.13-slim' },
          command: 'python',
          args: ['-c', script],
          network: { allow: ['api.test', 'pypi.test'] },
        }),
      );
      const asker = askerOf(instance);
      assert.equal(await asker.ask('x', { url: 'http://api.test/p' }), '200 GET api.test/p');
      assert.match(
        String(await asker.ask('x', { url: 'http://other.test/p' })),
        /^403 AgentHub: other\.test:80 is not in "network.allow" of the server python$/,
      );
      const pip = (host: string, folder: string) => ({
        words:
          `pip install tiny --target ${folder} --no-cache-dir --retries 0 --index-url http://${host}/files/ --trusted-host ${host}`.split(
            ' ',
          ),
      });
      const installed = String(await asker.ask('x', pip('pypi.test', '/tmp/lib')));
      assert.match(installed, /Successfully installed tiny-1\.0\.0/);
      assert.match(String(await asker.ask('x', pip('other.test', '/tmp/no'))), /No matching/);
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
