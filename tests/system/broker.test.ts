import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  cp,
  mkdir,
  mkdtemp,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createBroker } from '#broker';
import { type Service, isObject, silent, systemClock } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { createRecordingLog } from '#helpers/recording-log';
import { caller } from '#helpers/principal';
import { createRepositories } from '#repositories';
import type { LaunchSpec } from '#runtimes';
import { createDockerRuntime } from '#runtimes/docker';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { readBuildContext, readLock } from '../../hub/runtimes/docker/image/build-context.ts';
import { containerBody, owner } from '../broker/bodies.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';
import { git, mergeInto, workOn } from '../repositories/harness.ts';
import { answering, askerOf, specOf } from '../runtimes/docker/hub.ts';

const enginePath = '/var/run/docker.sock';
const image = 'node:24-bookworm-slim';
const { hubId, hubName } = owner;
const registries = ['docker.io'];
const foreign = `foreign-${process.pid}`;

let folder = '';
let root = '';
let socketPath = '';
let broker: Service;
/** Paths of containers, networks and volumes of the engine that are removed at the end. */
const leftovers: string[] = [];

/** A program that echoes each line of its stdin, and writes once more after stdin has ended. */
const echo = `
  process.stdin.on('data', line => console.log('got ' + line));
  process.stdin.on('end', () => setTimeout(() => console.log('after the end'), 500));`;

type Answer = { readonly status: number; readonly body: unknown; readonly text: string };

async function call(
  path: string,
  method: string,
  target: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await open({ socketPath: path, method, path: target, headers }, body);
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  return { status: answer.statusCode ?? 0, body: parsed, text };
}

function open(options: RequestOptions, body?: string | Buffer): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = request({ agent: false, ...options }, resolve);
  asked.on('error', reject);
  asked.end(body);
  return promise;
}

const jsonType = { 'Content-Type': 'application/json' };
const viaBroker = (method: string, target: string, body?: unknown) =>
  call(socketPath, method, target, body === undefined ? undefined : JSON.stringify(body), jsonType);
const viaEngine = (method: string, target: string, body?: unknown) =>
  call(enginePath, method, target, body === undefined ? undefined : JSON.stringify(body), jsonType);

/** Creates a container through the broker, and returns its id. */
async function create(name: string, body: object): Promise<string> {
  const answer = await viaBroker('POST', `/containers/create?name=${hubName}-${name}`, body);
  assert.equal(answer.status, 201, answer.text);
  const id = idOf(answer);
  leftovers.push(`/containers/${id}?force=1&v=1`);
  return id;
}

function idOf({ body, text }: Answer): string {
  const id = isObject(body) ? body['Id'] : undefined;
  if (typeof id !== 'string') assert.fail(`no id in ${text}`);
  return id;
}

function attach(id: string): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const asked = request({
    socketPath,
    method: 'POST',
    path: `/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`,
    headers: { Connection: 'Upgrade', Upgrade: 'tcp', 'Content-Length': '0' },
    // The hub may half-close the connection and go on reading.
    createConnection: () => connect({ path: socketPath, allowHalfOpen: true }),
  });
  asked.on('upgrade', (_, socket, head) => {
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  asked.on('response', answer => reject(new Error(`status ${answer.statusCode ?? 0}`)));
  asked.on('error', reject);
  asked.end();
  return promise;
}

/** Attaches to a new container and waits for its first output. Nothing is sent on the connection from then on. */
async function openSilentAttach() {
  const id = await create(
    'attach',
    containerBody({}, { Entrypoint: ['node', '-e', echo], Cmd: [] }),
  );
  const stream = await attach(id);
  const output = listen(stream);
  assert.equal((await viaBroker('POST', `/containers/${id}/start`)).status, 204);
  stream.write('one\n');
  await output.heard('got one');
  return { id, stream, output, sinceMs: performance.now() };
}

/** Collects the output of a stream, and waits for a text in it. */
function listen(stream: Duplex) {
  let heard = '';
  let ended = false;
  stream.on('data', chunk => (heard += String(chunk)));
  stream.on('end', () => (ended = true));
  const until = async (done: () => boolean, what: string) => {
    const deadline = Date.now() + 15_000;
    while (!done()) {
      if (Date.now() > deadline) assert.fail(`${what} within 15 s; heard ${JSON.stringify(heard)}`);
      await delay(20);
    }
  };
  return {
    heard: (text: string) => until(() => heard.includes(text), `no ${text}`),
    ended: () => until(() => ended, 'no end'),
  };
}

function assertRefused(answer: Answer, message: RegExp, status = 403): void {
  assert.equal(answer.status, status, answer.text);
  const said = isObject(answer.body) ? answer.body['message'] : undefined;
  assert.match(String(said), message);
}

describeWithEngine('the broker', () => {
  /** Stays silent while other tests run. Opened first, as the drivers of the last tests would remove its container. */
  let silentAttach: Awaited<ReturnType<typeof openSilentAttach>>;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'broker-')));
    root = join(folder, 'root');
    await mkdir(join(root, 'inner'), { recursive: true });
    await symlink('/', join(root, 'to-slash'));
    await symlink(enginePath, join(root, 'to-socket'));
    for (const base of ['npm', 'python']) {
      await mkdir(join(folder, 'images', base), { recursive: true });
      await writeFile(
        join(folder, 'images', base, 'Dockerfile'),
        `FROM ${image}\nARG PACKAGE\nLABEL built.by=broker built.of=$PACKAGE\n`,
      );
    }
    socketPath = join(folder, 'broker.sock');
    broker = createBroker(
      {
        socketPath,
        enginePath,
        hubId,
        hubName,
        mountRoots: [root],
        registries,
        imagesDir: join(folder, 'images'),
      },
      { log: silent, clock: systemClock, readBuildContext, readLock },
    );
    await broker.start(AbortSignal.timeout(10_000));

    const theirs = await viaEngine('POST', `/containers/create?name=${foreign}`, {
      Image: image,
      Cmd: ['cat'],
      OpenStdin: true,
    });
    leftovers.push(`/containers/${foreign}?force=1&v=1`);
    await viaEngine('POST', `/containers/${idOf(theirs)}/start`);
    await viaEngine('POST', '/networks/create', { Name: `${hubName}-${foreign}` });
    leftovers.push(`/networks/${hubName}-${foreign}`);
    await viaEngine('POST', '/volumes/create', { Name: `${hubName}-${foreign}` });
    leftovers.push(`/volumes/${hubName}-${foreign}`);
    silentAttach = await openSilentAttach();
  });

  afterAll(async () => {
    for (const path of leftovers) await viaEngine('DELETE', path);
    await broker.stop();
    await rm(folder, { recursive: true, force: true });
  });

  describe('creates a container', () => {
    test('that is hardened, labelled and its own, with the settings of the hub', async () => {
      const Mounts = [
        { Type: 'bind', Source: join(root, 'inner'), Target: '/inner', ReadOnly: true },
        { Type: 'volume', Source: `${hubName}-notes`, Target: '/notes', ReadOnly: false },
      ];
      leftovers.push(`/volumes/${hubName}-notes`);
      const id = await create('plain', containerBody({ Mounts }));
      const inspected = await viaBroker('GET', `/containers/${hubName}-plain/json`);
      assert.equal(idOf(inspected), id);
      const text = inspected.text;
      for (const part of [
        '"CapDrop":["ALL"]',
        '"SecurityOpt":["no-new-privileges"]',
        '"ReadonlyRootfs":true',
        '"Privileged":false',
        '"NetworkMode":"none"',
        '"User":"65534:65534"',
        '"PidsLimit":32',
        '"TOKEN=secret"',
      ])
        assert.ok(text.includes(part), part);
      const volume = await viaEngine('GET', `/volumes/${hubName}-notes`);
      assert.ok(volume.text.includes(`"io.agenthub.hub":"${hubId}"`), volume.text);
      const list = await viaBroker('GET', '/containers/json?all=1');
      assert.ok(list.text.includes(id) && !list.text.includes(foreign), list.text);
      // A volume of the same hub may be used again.
      await create('again', containerBody({ Mounts: [Mounts[1]] }));
    });

    test('on the volume of a hub with the same name and another id', async () => {
      const Name = `${hubName}-kept`;
      const Labels = {
        'io.agenthub.hub': 'another',
        'io.agenthub.managed': 'true',
        'io.agenthub.name': hubName,
      };
      await viaEngine('POST', '/volumes/create', { Name, Labels });
      leftovers.push(`/volumes/${Name}`);
      const mount = { Type: 'volume', Source: Name, Target: '/data', ReadOnly: false };
      await create('heir', containerBody({ Mounts: [mount] }));
    });

    test('in a network of its own, whose name is replaced by its id', async () => {
      const Name = `${hubName}-net`;
      const network = await viaBroker('POST', '/networks/create', {
        Name,
        Driver: 'bridge',
        Labels: {},
        Internal: true,
        EnableIPv6: false,
        IPAM: { Config: [{ Subnet: '10.213.255.252/30', IPRange: '10.213.255.254/32' }] },
        Options: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
      });
      assert.equal(network.status, 201, network.text);
      const id = await create('net', containerBody({ NetworkMode: Name }));
      assert.equal((await viaBroker('POST', `/containers/${id}/start`)).status, 204);
      const inspected = await viaBroker('GET', `/containers/${id}/json`);
      assert.ok(inspected.text.includes(`"NetworkMode":"${idOf(network)}"`), inspected.text);
      assert.equal((await viaBroker('DELETE', `/containers/${id}?force=1&v=1`)).status, 204);
      assert.ok((await viaBroker('GET', '/networks')).text.includes(Name));
      assert.equal((await viaBroker('DELETE', `/networks/${Name}`)).status, 204);
      assertRefused(await viaBroker('GET', `/networks/${Name}`), /no such network/, 404);
    });
  });

  describe('creates no container', () => {
    const bind = (Source: string) => ({
      Mounts: [{ Type: 'bind', Source, Target: '/x', ReadOnly: false }],
    });
    test.each<[string, () => object, RegExp]>([
      ['with privileges', () => ({ Privileged: true }), /HostConfig\.Privileged/],
      ['with privileges in another case', () => ({ privileged: true }), /HostConfig\.privileged/],
      ['with capabilities', () => ({ CapAdd: ['SYS_ADMIN'] }), /HostConfig\.CapAdd/],
      ['with devices', () => ({ Devices: [] }), /HostConfig\.Devices/],
      ['in the network of the host', () => ({ NetworkMode: 'host' }), /HostConfig\.NetworkMode/],
      ['among the processes of the host', () => ({ PidMode: 'host' }), /HostConfig\.PidMode/],
      ['with the memory of the host', () => ({ IpcMode: 'host' }), /HostConfig\.IpcMode/],
      ['with the root of the host', () => bind('/'), /Mounts\.0\.Source/],
      [
        'with the root of the host in the old form',
        () => ({ Binds: ['/:/x'] }),
        /HostConfig\.Binds/,
      ],
      ['with the socket', () => bind(enginePath), /not below a mount root/],
      ['with the socket of the broker', () => bind(socketPath), /not below a mount root/],
      ['with a link to the root', () => bind(join(root, 'to-slash')), /leads to "\/"/],
      ['through a link to the root', () => bind(join(root, 'to-slash/etc')), /leads to "\/etc"/],
      ['with a link to the socket', () => bind(join(root, 'to-socket')), /leads to|neither/],
      [
        'with a path that climbs out',
        () => bind(join(root, 'inner') + '/../..'),
        /Mounts\.0\.Source/,
      ],
      [
        "with another's network",
        () => ({ NetworkMode: `${hubName}-${foreign}` }),
        /must be its own/,
      ],
      [
        "with another's volume",
        () => ({ Mounts: [{ Type: 'volume', Source: `${hubName}-${foreign}`, Target: '/x' }] }),
        /exists and was not made for a server/,
      ],
    ])('%s', async (_, host, message) => {
      const target = `/containers/create?name=${hubName}-refused`;
      const answer = await viaBroker('POST', target, containerBody(host()));
      assertRefused(answer, message, /no such/.test(message.source) ? 404 : 403);
      assert.equal((await viaEngine('GET', `/containers/${hubName}-refused/json`)).status, 404);
    });

    test.each<[string, object, RegExp]>([
      [
        'of another hub, whose name begins like that of this one',
        { Labels: { 'io.agenthub.managed': 'true', 'io.agenthub.hub': 'another' } },
        /belongs to the hub "another"/,
      ],
      [
        'of this hub, that is a folder of the machine',
        {
          Labels: { 'io.agenthub.managed': 'true', 'io.agenthub.hub': hubId },
          DriverOpts: { type: 'none', o: 'bind', device: '/' },
        },
        /has options of its driver/,
      ],
    ])('with a volume %s', async (_, options, message) => {
      const Name = `${hubName}-test-${process.pid}`;
      await viaEngine('POST', '/volumes/create', { Name, ...options });
      const mount = { Type: 'volume', Source: Name, Target: '/x' };
      const target = `/containers/create?name=${hubName}-refused`;
      try {
        assertRefused(await viaBroker('POST', target, containerBody({ Mounts: [mount] })), message);
      } finally {
        await viaEngine('DELETE', `/volumes/${Name}`);
      }
    });

    test('on a new volume by itself: volumes are created with servers only', async () => {
      const DriverOpts = { type: 'none', o: 'bind', device: '/' };
      const Name = `${hubName}-made`;
      const answer = await viaBroker('POST', '/volumes/create', { Name, DriverOpts });
      assertRefused(answer, /does not admit "POST" "\/volumes\/create"/);
      assert.equal((await viaEngine('GET', `/volumes/${Name}`)).status, 404);
    });

    test('with privileges in a host part of another case, or in the first of two', async () => {
      const target = `/containers/create?name=${hubName}-twice`;
      const lower = { ...containerBody(), hostconfig: { privileged: true } };
      assertRefused(await viaBroker('POST', target, lower), /the key "hostconfig"/);
      const twice = JSON.stringify(containerBody()).replace(
        '{',
        '{"HostConfig":{"Privileged":true},',
      );
      const answer = await call(socketPath, 'POST', target, twice, jsonType);
      assert.equal(answer.status, 201, answer.text);
      leftovers.push(`/containers/${idOf(answer)}?force=1`);
      const inspected = await viaEngine('GET', `/containers/${idOf(answer)}/json`);
      assert.ok(inspected.text.includes('"Privileged":false'));
    });

    test("under another hub's label, a foreign name, or none", async () => {
      const target = `/containers/create?name=${hubName}-spoofed`;
      const spoofed = containerBody({}, { Labels: { 'io.agenthub.hub': 'other' } });
      assertRefused(await viaBroker('POST', target, spoofed), /Labels/);
      for (const query of ['?name=redis', '', `?name=${hubName}-x&platform=y`])
        assertRefused(
          await viaBroker('POST', `/containers/create${query}`, containerBody()),
          /does not admit/,
        );
    });
  });

  describe('starts no container', () => {
    const bind = (Source: string, ReadOnly: boolean) => ({
      Mounts: [{ Type: 'bind', Source, Target: '/x', ReadOnly }],
    });
    const isRunning = async (id: string) =>
      (await viaEngine('GET', `/containers/${id}/json`)).text.includes('"Running":true');

    test('whose folder has become a link out of the root since its creation', async () => {
      const swapped = join(root, 'swapped');
      await mkdir(swapped);
      const id = await create('swapped', containerBody(bind(swapped, false)));
      await rename(swapped, join(root, 'moved'));
      await symlink('/etc', swapped);
      const answer = await viaBroker('POST', `/containers/${id}/start`);
      assertRefused(answer, /a mount of ".*swapped": a link in it leads to "\/etc"/);
      assert.equal(await isRunning(id), false);
      await rm(swapped);
      await rename(join(root, 'moved'), swapped);
      assert.equal((await viaBroker('POST', `/containers/${id}/start`)).status, 204);
      assert.equal(await isRunning(id), true);
    });

    test('whose folder another one could replace by a link meanwhile: it is not created', async () => {
      const [outer, inner] = [join(root, 'outer'), join(root, 'outer/inner')];
      await mkdir(inner, { recursive: true });
      const writer = await create('writer', containerBody(bind(outer, false)));
      const target = `/containers/create?name=${hubName}-nested`;
      const nested = containerBody(bind(inner, true));
      assertRefused(
        await viaBroker('POST', target, nested),
        /inner" in .*-nested beside a writable mount of ".*outer" in .*-writer, which it lies in/,
      );
      assert.equal((await viaBroker('DELETE', `/containers/${writer}?force=1`)).status, 204);
      await create('nested', nested);
    });
  });

  describe('for a container of another hub', () => {
    test.each([
      ['GET', '/json'],
      ['POST', '/start'],
      ['POST', '/stop?t=0'],
      ['POST', '/wait'],
      ['GET', '/stats?stream=false'],
      ['DELETE', '?force=1'],
    ])('%s %s is not found', async (method, rest) => {
      const answer = await viaBroker(method, `/containers/${foreign}${rest}`);
      assertRefused(answer, /^no such container: /, 404);
    });

    test('an attach gets no output', async () => {
      const answer = await attachRaw(socketPath, 'POST', `/containers/${foreign}/attach?stream=1`);
      assert.match(answer, /^HTTP\/1\.1 404 .*no such container/s);
    });

    test.each(['/logs?stdout=1', '/exec', '/archive?path=/', '/export', '/top'])(
      '%s is not admitted, nor for its own',
      async rest => {
        const id = await create(`verbs${rest.replaceAll(/\W/g, '')}`, containerBody());
        for (const name of [foreign, id])
          for (const method of ['GET', 'POST', 'PUT'])
            assertRefused(
              await viaBroker(method, `/containers/${name}${rest}`),
              /does not admit "[A-Z]+" "/,
            );
      },
    );

    test('it still runs', async () => {
      const inspected = await viaEngine('GET', `/containers/${foreign}/json`);
      assert.ok(inspected.text.includes('"Running":true'));
    });
  });

  describe('an ambiguous request', () => {
    test.each([
      `/v1.43/../containers/${foreign}/json`,
      `/containers/%2e%2e/containers/${foreign}/json`,
      `//containers/${foreign}/json`,
      `/containers//${foreign}/json`,
      `/CONTAINERS/${foreign}/json`,
      `/containers/${foreign}%2Fjson`,
    ])('is refused: GET %s', async target => {
      assertRefused(await viaBroker('GET', target), /does not admit/);
    });

    test('is refused: a body with two lengths', async () => {
      const head = [
        'POST /containers/create?name=x HTTP/1.1',
        'Host: x',
        'Content-Length: 4',
        'Transfer-Encoding: chunked',
      ];
      const rest = '0\r\n\r\nPOST /containers/x/exec HTTP/1.1\r\nHost: x\r\n\r\n';
      const answer = await raw(socketPath, `${head.join('\r\n')}\r\n\r\n${rest}`);
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.equal(answer.split('HTTP/1.1').length, 2, 'the second request was not read as one');
    });

    test('is refused: a body before a raw stream, and an upgrade of anything else', async () => {
      const path = `/containers/${foreign}/attach?stream=1`;
      const withBody = await attachRaw(socketPath, 'POST', path, 'Content-Length: 2\r\n');
      assert.match(withBody, /^HTTP\/1\.1 403 .*a body before a raw stream/s);
      const session = await attachRaw(socketPath, 'POST', '/session');
      assert.match(session, /^HTTP\/1\.1 403 /);
      const version = await attachRaw(socketPath, 'GET', '/version');
      assert.match(version, /^HTTP\/1\.1 403 .*an upgrade of/s);
      assertRefused(await viaBroker('POST', path), /no such container|without "Connection/, 404);
    });

    test('does not pass on its headers', async () => {
      const answer = await call(socketPath, 'GET', '/version', undefined, {
        'X-Registry-Auth': 'e30=',
        'Content-Length': '0',
      });
      assert.equal(answer.status, 200);
    });
  });

  test('an image is pulled from a registry on the list only', async () => {
    const pull = (image: string) =>
      viaBroker('POST', `/images/create?fromImage=${encodeURIComponent(image)}&tag=1`);
    assertRefused(
      await pull('registry.example/server'),
      /a pull from "registry\.example", which is none of docker\.io\. Add it to AGENTHUB_REGISTRIES /,
    );
    // The broker forwards the pull. Whether the engine succeeds does not matter.
    assert.notEqual((await pull('agenthub/no-such-image')).status, 403);
  });

  test('a build uses the files of the broker, whatever is sent', async () => {
    const tag = `agenthub/npm-broker-test:1-${process.pid}`;
    leftovers.push(`/images/${tag}?force=1`);
    const query = new URLSearchParams({
      t: tag,
      buildargs: '{"PACKAGE":"left-pad@1.3.0"}',
      labels: '{"io.agenthub.base":"npm"}',
    });
    const evil = join(folder, 'evil');
    await mkdir(evil);
    await writeFile(join(evil, 'Dockerfile'), `FROM ${image}\nLABEL built.by=foreigner\n`);
    const answer = await call(
      socketPath,
      'POST',
      `/build?${query.toString()}`,
      await readBuildContext(evil),
      { 'Content-Type': 'application/x-tar' },
    );
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.text, /Successfully tagged/);
    const built = await viaBroker('GET', `/images/${tag}/json`);
    for (const part of [
      '"built.by":"broker"',
      '"built.of":"left-pad@1.3.0"',
      '"io.agenthub.base":"npm"',
    ])
      assert.ok(built.text.includes(part), `${part} in ${built.text}`);
  });

  describe('an attach', () => {
    test('still receives output after it has closed its own half', async () => {
      // With StdinOnce, unlike containers of the hub: without it the engine closes both directions itself.
      const { Labels } = containerBody();
      const made = await viaEngine('POST', '/containers/create', {
        Image: image,
        Entrypoint: ['node', '-e', echo],
        Labels,
        OpenStdin: true,
        StdinOnce: true,
      });
      const id = idOf(made);
      leftovers.push(`/containers/${id}?force=1`);
      const stream = await attach(id);
      const output = listen(stream);
      await viaBroker('POST', `/containers/${id}/start`);
      stream.end('one\n');
      await output.heard('got one');
      await output.heard('after the end');
      await output.ended();
    });

    test('ends with its client, and the container continues', async () => {
      const id = await create(
        'alone',
        containerBody({}, { Entrypoint: ['node', '-e', echo], Cmd: [] }),
      );
      const first = await attach(id);
      const heard = listen(first);
      await viaBroker('POST', `/containers/${id}/start`);
      first.write('one\n');
      await heard.heard('got one');
      first.destroy();
      const second = await attach(id);
      const output = listen(second);
      second.write('two\n');
      await output.heard('got two');
      second.destroy();
    });

    test('passes megabytes to a slow reader, in order', async () => {
      const script = `process.stdout.write('x'.repeat(8 * 1024 * 1024) + 'last', () => process.exit())`;
      const id = await create(
        'much',
        containerBody({}, { Entrypoint: ['node', '-e', script], Cmd: [] }),
      );
      const stream = await attach(id);
      await viaBroker('POST', `/containers/${id}/start`);
      let bytes = 0;
      let tail = '';
      for await (const chunk of stream) {
        const part: Buffer = Buffer.from(chunk);
        bytes += part.length;
        tail = (tail + part.toString('latin1')).slice(-4);
        if (bytes < 100_000) await delay(50);
      }
      assert.ok(bytes > 8 * 1024 * 1024);
      assert.equal(tail, 'last');
    });
  });

  test("events of the hub's containers are sent as they happen, and of others never", async () => {
    const filters = encodeURIComponent('{"type":["container"],"event":["create","die"]}');
    const stream = await open({ socketPath, path: `/events?filters=${filters}` });
    let heard = '';
    stream.on('data', chunk => (heard += String(chunk)));
    const other = idOf(await viaEngine('POST', '/containers/create', { Image: image }));
    leftovers.push(`/containers/${other}?force=1`);
    const id = await create('events', containerBody());
    const deadline = Date.now() + 10_000;
    while (!heard.includes(id) && Date.now() < deadline) await delay(20);
    assert.ok(heard.includes(id), 'our container was told of');
    assert.ok(!heard.includes(other), 'the other was not');
    stream.destroy();
  });

  test('the sizes of the volumes of the hub are returned, and no others', async () => {
    const names = [`${hubName}-measured`, `${hubName}-of-another`];
    for (const [index, Name] of names.entries()) {
      const Labels = {
        'io.agenthub.managed': 'true',
        'io.agenthub.hub': index === 0 ? hubId : 'another',
      };
      await viaEngine('POST', '/volumes/create', { Name, Labels });
      leftovers.push(`/volumes/${Name}`);
    }
    const { status, text } = await viaBroker('GET', '/system/df?type=volume');
    assert.equal(status, 200, text);
    assert.match(text, /measured","UsageData":\{/);
    assert.doesNotMatch(text, /of-another/);
    for (const target of ['/system/df', '/system/df?type=image'])
      assert.equal((await viaBroker('GET', target)).status, 403);
  });

  test('an attach is not closed for being silent for ten seconds', async () => {
    const { id, stream, output, sinceMs } = silentAttach;
    // The test is about this silence.
    await delay(Math.max(0, sinceMs + 11_000 - performance.now()));
    stream.write('two\n');
    await output.heard('got two');
    await viaBroker('POST', `/containers/${id}/stop?t=0`);
    await output.ended();
  });

  test(
    "the hub's driver runs a server through it, and the next run adopts the server",
    { timeout: 60_000 },
    async () => {
      await cp('images/egress', join(folder, 'images/egress'), { recursive: true });
      const createDriver = (isAwaited: (id: string) => boolean, dockerHost: string) =>
        createDockerRuntime(
          { hubId, hubName, dockerHost, imagesDir: 'images' },
          { clock: systemClock, log: silent, isAwaited },
        );
      // The first hub cannot stop the server, because its connection to the broker is cut.
      await using way = await createProxy(`unix://${socketPath}`);
      const killed = createDriver(() => false, way.host);
      const ready = await killed.probe(AbortSignal.timeout(5_000));
      assert.equal(ready.healthy, true, ready.detail);
      await killed.start(AbortSignal.timeout(5_000));
      const stderr: string[] = [];
      const events = { stderr: (line: string) => stderr.push(line), progress: () => {} };
      const spec: LaunchSpec = {
        server: 'driven',
        digest: 'as it was',
        target: {
          kind: 'docker',
          image: { reference: image },
          command: 'node',
          args: ['-e', 'process.stdin.pipe(process.stdout)'],
          network: { allow: ['api.test', 'db.internal:5432'] },
          mounts: [{ source: join(root, 'inner'), target: '/inner', readOnly: true }],
          volumes: [{ name: 'driven', target: '/notes' }],
          limits: {
            memoryBytes: 128 * 1024 * 1024,
            cpus: 1,
            pids: 32,
            scratchBytes: 64 * 2 ** 20,
            volumeBytes: 10 * 2 ** 30,
          },
          logs: 'bounded',
        },
        env: {},
        maxLineBytes: 1024,
        maxWaitingBytes: 1024 * 1024,
      };
      const launched = await killed.launch(spec, events, AbortSignal.timeout(30_000));
      leftovers.push(`/volumes/${hubName}-driven`);
      const handle = (await launched.handle?.()) ?? '';
      const forwarder = await viaEngine('GET', `/containers/${hubName}-.egress/json`);
      await way.away();
      assert.equal((await launched.exited).lost, true);
      const driver = createDriver(id => handle.startsWith(id), `unix://${socketPath}`);
      await driver.start(AbortSignal.timeout(5_000));
      const instance = await driver.adopt?.(spec, handle, events, AbortSignal.timeout(30_000));
      assert.ok(instance);
      const same = await viaEngine('GET', `/containers/${hubName}-.egress/json`);
      assert.equal(idOf(same), idOf(forwarder));
      const usage = await instance.usage();
      assert.ok(usage !== undefined && usage.pidsLimit === 32, JSON.stringify(usage));
      const exit = await instance.stop({ graceMs: 1_000 });
      assert.ok(exit.detail.length > 0);
      await driver.stop();
      await way.back();
      await killed.stop();
      const list = await viaEngine('GET', '/containers/json?all=1');
      assert.ok(!list.text.includes(`${hubName}-driven`), list.text);
      assert.ok(!(await viaEngine('GET', '/networks')).text.includes(`${hubName}-driven`));
    },
  );

  test('git and acceptance commands run in the containers that it admits', async () => {
    await cp('images/git', join(folder, 'images/git'), { recursive: true });
    const driver = createDockerRuntime(
      { hubId, hubName, dockerHost: `unix://${socketPath}`, imagesDir: 'images' },
      { clock: systemClock, log: silent, isAwaited: () => false },
    );
    const repositories = createRepositories(
      { runsIn: 'docker', inContainer: true, imagesDir: 'images', folders: () => [root] },
      {
        clock: systemClock,
        log: silent,
        newId: randomUUID,
        redact: text => text,
        launch: (...request) => driver.launch(...request),
        identify: async spec => await driver.identify?.(spec),
      },
    );
    const path = join(root, 'repository');
    await mkdir(path);
    await writeFile(join(path, 'a.txt'), 'one\n');
    git(path, 'init', '--quiet', '--initial-branch=main');
    git(path, 'add', '--all');
    git(path, 'commit', '--quiet', '--message=first');
    const signal = AbortSignal.timeout(120_000);
    const open = () => repositories.open(path, caller, signal);
    if (process.getuid?.() === 0) {
      await assert.rejects(open(), { message: /belongs to root\. Give it to a user/ });
      execFileSync('chown', ['-R', '1234:1235', path]);
    }
    const repository = await open();
    const worktree = await workOn(repository, 'brokered', { 'b.txt': 'two\n' });
    const run = { repository, worktree, commands: ['cat a.txt b.txt'], timeoutMs: 30_000 };
    const report = await repositories.runAcceptance(run, signal);
    assert.equal(report.commands[0]?.output, 'one\ntwo');
    const merged = await mergeInto(repository, { from: 'agenthub/brokered' });
    assert.equal(merged.kind, 'merged');
    const { uid } = await stat(join(path, 'b.txt'));
    assert.equal(uid, (await stat(path)).uid);
    await repositories.service.stop();
    await driver.stop();
    const list = await viaEngine('GET', '/containers/json?all=1');
    assert.ok(!list.text.includes(`${hubName}-.g`), list.text);
  });

  test("the hub's driver sends a server its secrets by stdin through it", async () => {
    const log = createRecordingLog();
    const driver = createDockerRuntime(
      { hubId, hubName, dockerHost: `unix://${socketPath}`, imagesDir: 'images' },
      { clock: systemClock, log: log.log, isAwaited: () => false },
    );
    const secret = `kept ${randomUUID()}`;
    const instance = await driver.launch(
      {
        ...specOf('keeper', answering('() => process.env.TOKEN'), { TOKEN: secret }),
        secretEnv: ['TOKEN'],
      },
      { stderr: () => {}, progress: () => {} },
      AbortSignal.timeout(30_000),
    );
    assert.equal(instance.secrets, 'stdin');
    assert.equal(await askerOf(instance).ask('token'), secret);
    const found = await viaEngine('GET', `/containers/${hubName}-keeper/json`);
    assert.equal(found.status, 200);
    assert.ok(!found.text.includes(secret));
    assert.deepEqual(
      log.logged.filter(({ level }) => level !== 'debug' && level !== 'info'),
      [],
    );
    await instance.stop({ graceMs: 1_000 });
    await driver.stop();
    const list = await viaEngine('GET', '/containers/json?all=1');
    assert.ok(!list.text.includes(`${hubName}-keeper`), list.text);
  });
});

/** Sends raw bytes. Returns all that is received until the connection closes. */
async function raw(path: string, text: string): Promise<string> {
  const socket = connect({ path });
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

function attachRaw(path: string, method: string, target: string, headers = ''): Promise<string> {
  return raw(
    path,
    `${method} ${target} HTTP/1.1\r\nHost: x\r\n${headers}Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n`,
  );
}
