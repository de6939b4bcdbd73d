import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { askerOf, answering, createHub, docker, nodeImage, until } from '../runtimes/docker/hub.ts';
import { createWorld } from './egress-scene.ts';

/** Sends raw bytes to the proxy, and `then` after the first answer. Returns all that it received, in latin1. */
const sending = answering(`async ({ bytes, then = '', count = 1 }) => {
  const { connect } = require('node:net');
  const proxy = new URL(process.env.HTTP_PROXY);
  const one = async () => {
    const socket = connect(proxy.port, proxy.hostname);
    socket.on('error', () => {});
    const { promise, resolve } = Promise.withResolvers();
    let all = '';
    socket.on('data', chunk => {
      if (all === '' && then !== '') socket.write(Buffer.from(then, 'latin1'));
      all += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(all || 'closed'));
    socket.setTimeout(3000, () => resolve(all || 'silence'));
    socket.write(Buffer.from(bytes, 'latin1'));
    return await promise.finally(() => socket.destroy());
  };
  if (count === 1) return await one();
  if (count === 0) return globalThis.held.map(socket => socket.destroy()).length;
  globalThis.held = Array.from({ length: count }, () => connect(proxy.port, proxy.hostname).on('error', () => {}).on('close', () => globalThis.closed = (globalThis.closed ?? 0) + 1));
  if (bytes !== '') for (const socket of globalThis.held) socket.write(bytes);
  await new Promise(done => { const timer = setInterval(() => globalThis.closed >= count - 128 && done(clearInterval(timer)), 20); });
  return count - globalThis.closed;
}`);
const network = { allow: ['api.test', 'other.test:8081'] };
const get = (target: string, more = '') =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}Connection: close\r\n\r\n`;
const connect = (target: string, host = 'x') =>
  `CONNECT ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const images = join(import.meta.dirname, '../../images/egress');

describeWithEngine('a hostile server', () => {
  let hub: ReturnType<typeof createHub>;
  let world: Awaited<ReturnType<typeof createWorld>>;
  let send: (params: object) => Promise<unknown>;
  let sendOther: (params: object) => Promise<unknown>;
  const forwarder = async () => (await docker.getContainer(`${hub.hubName}-.egress`).inspect()).Id;

  beforeAll(async () => {
    hub = createHub();
    world = await createWorld();
    const [asker, other] = await Promise.all(
      ['hostile', 'other'].map(async name =>
        askerOf(await hub.launch(hub.spec(name, { ...sending, network }))),
      ),
    );
    assert.ok(asker && other);
    send = params => asker.ask('send', params);
    sendOther = params => other.ask('send', params);
    await world.attach(hub);
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  test('reaches nothing by malformed requests, and the forwarder keeps running', async () => {
    const before = await forwarder();
    const refused = /^HTTP\/1\.1 40[03] /;
    for (const bytes of [
      connect('203.0.113.1:80'),
      connect('0x7f.1:80'),
      connect('0177.0.0.1:80'),
      connect('2130706433:80'),
      connect('[::1]:80'),
      connect('[::ffff:10.0.0.1]:80'),
      connect('[::ffff:a00:1%25eth0]:80'),
      connect('localhost:80'),
      connect('api.test:22'),
      connect('api.test:99999'),
      connect('api.test'),
      connect('api.test:80:80'),
      connect('api.test@www.api.test:80'),
      connect('http://api.test:80'),
      connect('api.test:80\0.www.api.test:80'),
      // The target decides, not the Host header.
      connect('www.api.test:80', 'api.test:80'),
      get('http://www.api.test/', 'Host: api.test\r\n'),
      get('http://api.test@www.api.test/'),
      get('http://api.test:80@www.api.test/'),
      get('http://www.api.test\\@api.test/'),
      get('http://www.api.test#@api.test/'),
      get('https://api.test/'),
      get('ftp://api.test/'),
      get('/'),
      get('*'),
      get('http://'),
      'GET http://api.test/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'GET http://api.test/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      '\x04\x01\x00\x50\x7f\x00\x00\x01\x00',
      '\x05\x01\x00',
    ]) {
      const seen = String(await send({ bytes }));
      assert.match(seen, refused, `${bytes}: ${seen}`);
      assert.doesNotMatch(seen, /GET /, `${bytes}: ${seen}`);
    }
    const long = String(
      await send({ bytes: get('http://api.test/', `A: ${'a'.repeat(1e5)}\r\n`) }),
    );
    assert.match(long, /^HTTP\/1\.1 431 |^closed$/);
    assert.equal(await forwarder(), before);
  });

  test('cannot crash the forwarder by responses of its own target', async () => {
    const before = await forwarder();
    for (const answer of [
      'HTTP/1.1 200 \x01\x7f\r\n\r\n',
      'HTTP/1.1 200 \xff\r\n\r\n',
      'HTTP/1.1 000 x\r\n\r\n',
      'HTTP/1.1 099 x\r\n\r\n',
      'HTTP/1.1 999 x\r\n\r\n',
      'HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      'HTTP/1.1 100 x\r\n\r\n',
      'HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n',
      'HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
      'HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nx',
      'HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nzz',
      'HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n',
      'HTTP/1.1 200 x\r\nTransfer-Encoding: gzip, chunked\r\nTrailer: A\r\n\r\n0\r\n\r\n',
      'HTTP/1.1 200 x\r\nA: \x7f\r\nB: \xff\r\n\r\nx',
      'HTTP/1.1 200 x\r\nA b: c\r\n\r\nx',
      `HTTP/1.1 200 x\r\n${'A: b\r\n'.repeat(3000)}\r\nx`,
      'HTTP/1.1 200 x\r\nConnection: content-length, x\r\nContent-Length: 1\r\n\r\nx',
      'HTTP/9.9 200 x\r\n\r\nx',
      'x',
      '',
    ]) {
      const path = Buffer.from(answer, 'latin1').toString('base64url');
      const seen = await send({ bytes: get(`http://other.test:8081/${path}`) });
      assert.match(String(seen), /^HTTP\/1\.1 \d{3} |^closed$/, answer);
    }
    assert.equal(await forwarder(), before);
  });

  test('has no more connections than its limit, and others get theirs', async () => {
    const held = await send({ bytes: 'GET http://api.test/ HTTP/1.1\r\nA: ', count: 2000 });
    assert.equal(held, 128);
    assert.match(String(await sendOther({ bytes: get('http://api.test/') })), /GET api\.test\/$/m);
    await until(
      'it is reported',
      () => (hub.runtime.egress.report('hostile')?.blocked[0]?.count ?? 0) >= 1,
    );
    const [blocked] = hub.runtime.egress.report('hostile')?.blocked ?? [];
    assert.equal(blocked?.why, 'has 128 connections open, the maximum');
    await send({ bytes: '', count: 0 });
    await until('there is room again', async () =>
      /GET api/.test(String(await send({ bytes: get('http://api.test/') }))),
    );
  });

  test('loses a connection that is being opened while its list changes', async () => {
    const script = `
      import { createOutside } from '/egress/outside.mjs';
      import { poolOf } from '/egress/rules.mjs';
      const allow = [{ name: 'api.test', ports: [80], internal: false }];
      const server = { name: 's', peer: '10.213.0.2', self: '10.213.0.1', allow };
      const hub = { addresses: [], ports: [], backends: [] };
      const state = { servers: new Map([[server.peer, server]]), pool: poolOf('10.213.0.0/16'), hub };
      const reports = { allowed: () => console.log('allowed'), blocked: (...what) => console.log('blocked', ...what) };
      const outside = createOutside(state, reports);
      const opening = outside.open(server, 'api.test', 80);
      state.servers = new Map([[server.peer, { ...server, allow: [] }]]);
      outside.recheck();
      await opening.then(() => console.log('open'), error => console.log(error.message));
      process.exit();`;
    const container = await docker.createContainer({
      Image: nodeImage,
      Cmd: ['node', '--input-type=module', '-e', script],
      HostConfig: { NetworkMode: world.networks.public, Binds: [`${images}:/egress:ro`] },
    });
    try {
      await container.start();
      await container.wait();
      const text = (await container.logs({ stdout: true, stderr: true })).toString();
      assert.match(text, /blocked s api\.test:80 is not in "network.allow"/);
      assert.doesNotMatch(text, /open$/m);
    } finally {
      await container.remove({ force: true });
    }
  });

  test('that sends endless requests and reads no response gets no connection for a time', async () => {
    const before = await forwarder();
    const bytes = 'GET http://a.test/ HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1500);
    assert.equal(await send({ bytes }), 'closed');
    const refusal = () =>
      hub.runtime.egress
        .report('hostile')
        ?.blocked.find(({ target }) => target === 'more requests');
    await until('it is reported', () => refusal() !== undefined);
    assert.match(refusal()?.why ?? '', /^sent more than 16 requests without waiting/);
    assert.equal(await send({ bytes: get('http://api.test/') }), 'closed');
    assert.match(String(await sendOther({ bytes: get('http://api.test/') })), /GET api\.test\/$/m);
    assert.equal(await forwarder(), before);
  });
});
