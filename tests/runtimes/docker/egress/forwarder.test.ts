import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { HubError, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createForwarder } from '../../../../hub/runtimes/docker/egress/forwarder.ts';
import type { Member } from '../../../../hub/runtimes/docker/egress/protocol.ts';
import { subnetAt } from '../../../../hub/runtimes/docker/egress/subnets.ts';
import { EngineError } from '../../../../hub/runtimes/docker/engine/errors.ts';

/** Creates the connection to a forwarder that applies each state at once, or exits at the first state. */
function connection(endsAtOnce: boolean, heard: (line: string) => void = () => {}): Duplex {
  return new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      heard(chunk.toString());
      const [, number] = /"apply":(\d+)/.exec(chunk.toString()) ?? [];
      if (number !== undefined && endsAtOnce) this.destroy();
      else if (number !== undefined) {
        const text = Buffer.from(`{"applied":${number}}\n`);
        this.push(Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, text.length]), text]));
      }
      done();
    },
  });
}

const memberOf = (server: string, index: number): Member => ({
  server,
  subnet: subnetAt(index),
  network: 'bridge',
});

/** Creates a forwarder on an engine with scripted answers. */
function open(script: {
  readonly attach?: (times: number) => Duplex;
  readonly connect?: (network: string) => Promise<void>;
  readonly provide?: (times: number) => Promise<void>;
  readonly remove?: () => void;
  readonly version?: () => Promise<void>;
}) {
  const clock = createManualClock();
  const members = new Map<string, Member>();
  let attached = 0;
  let provided = 0;
  const forwarder = createForwarder({
    engine: {
      attach: async () => script.attach?.(++attached) ?? connection(false),
      startContainer: async () => {},
      removeContainer: async () => script.remove?.(),
      async version() {
        await script.version?.();
        return { version: '28.0.0', os: 'linux', product: 'docker', kernel: '' };
      },
      connectNetwork: async network => await script.connect?.(network),
    },
    clock,
    log: silent,
    name: 'hub-.egress',
    members,
    hubPlaces: async () => ({ addresses: [], ports: [], backends: [] }),
    heard() {},
    async provide() {
      await script.provide?.(++provided);
      return { id: 'forwarder', isRunning: true };
    },
  });
  return {
    /** Adds a server as a member, as the egress does. */
    join: (server: string, index: number): Promise<void> => {
      const member = memberOf(server, index);
      members.set(server, member);
      return forwarder.join(server, member);
    },
    /** Advances the clock, and waits until the work that is due has been done. */
    pass: async (milliseconds: number): Promise<void> => {
      for (let turns = 0; turns < 10; turns++) await turn();
      clock.advance(milliseconds);
      for (let turns = 0; turns < 10; turns++) await turn();
    },
    provided: () => provided,
  };
}

test('a server whose forwarder has gone waits for the one that another server is starting', async () => {
  const gone = new EngineError(404, 'No such container: old', 'connect', undefined);
  const late = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let isGone = false;
  const { join, pass, provided } = open({
    async connect(network) {
      if (network === 'b' && !isGone) {
        await late.promise;
        throw gone;
      }
      if (network === 'a' && !isGone) throw gone;
    },
    provide: async times => (times === 1 ? undefined : await opened.promise),
  });
  const joined = [join('first', 0)];
  await pass(0);
  joined.push(join('a', 1), join('b', 2));
  await pass(200);
  assert.equal(provided(), 2, 'the first of them opens another');
  isGone = true;
  late.resolve();
  await pass(200);
  opened.resolve();
  await pass(0);
  await Promise.all(joined);
  assert.equal(provided(), 2);
});

test('a server joins the next forwarder if the first ends meanwhile', async () => {
  const { join, pass } = open({ attach: times => connection(times === 1) });
  await Promise.all([join('a', 0), pass(200)]);
});

test('a server joins the forwarder whose network or name was created between look-up and creation', async () => {
  const taken = [
    new EngineError(409, 'network with name hub-.egress already exists', 'create', undefined),
    new EngineError(
      409,
      'Conflict. The container name "/hub-.egress" is already in use',
      'create',
      undefined,
    ),
  ];
  const { join, pass, provided } = open({
    async provide() {
      const error = taken.shift();
      if (error) throw error;
    },
  });
  const joined = join('a', 0);
  await pass(200);
  await pass(400);
  await joined;
  assert.equal(provided(), 3);
});

test('a forwarder that hangs is named with the remedy', async () => {
  const { join, pass } = open({
    attach: () => new Duplex({ read() {}, write: (_, __, done) => done() }),
  });
  const refused = assert.rejects(join('a', 0), {
    code: 'HUB_ENGINE_REFUSED',
    message:
      'the forwarder of the network did not answer within 10 s. The hub replaces it if it stays silent. To replace it now: docker rm -f hub-.egress',
  });
  await pass(10_000);
  await refused;
});

/** Creates the connection to a forwarder that applies states while `answers` returns true. */
function connectionThat(answers: () => boolean): Duplex {
  const inner = connection(false);
  const write = inner.write.bind(inner);
  return Object.assign(inner, { write: (text: string) => !answers() || write(text) });
}

test('a forwarder that stops answering is replaced after three checks', async () => {
  let answers = true;
  const connections: Duplex[] = [];
  const removed: string[] = [];
  const { join, pass, provided } = open({
    attach(times) {
      const opened = connectionThat(() => answers || times > 1);
      connections.push(opened);
      return opened;
    },
    provide: async () => {},
    remove() {
      removed.push('forwarder');
      connections[0]?.destroy();
    },
  });
  await Promise.all([join('a', 0), pass(0)]);
  answers = false;
  for (const ms of [15_000, 10_000, 15_000, 10_000, 15_000]) await pass(ms);
  assert.equal(removed.length, 0, 'two checks may fail on a busy machine');
  answers = true;
  await pass(0);
  await pass(15_000);
  answers = false;
  for (const ms of [15_000, 10_000, 15_000, 10_000, 15_000, 10_000]) await pass(ms);
  assert.equal(removed.length, 1);
  assert.equal(provided(), 2, 'and is started again');
  for (let checks = 0; checks < 9; checks++) await pass(15_000);
  assert.equal(removed.length, 1, 'the next one answers');
});

test('a forwarder is not replaced while the engine, which passes its messages, does not answer', async () => {
  let isFrozen = false;
  const removed: string[] = [];
  const { join, pass } = open({
    attach: () => connectionThat(() => !isFrozen),
    remove: () => void removed.push('forwarder'),
    async version() {
      if (isFrozen) throw new HubError('HUB_ENGINE_UNREACHABLE', 'the engine does not answer');
    },
  });
  await Promise.all([join('a', 0), pass(0)]);
  isFrozen = true;
  for (let checks = 0; checks < 9; checks++) {
    await pass(15_000);
    await pass(10_000);
  }
  assert.equal(removed.length, 0);
});

test('a forwarder of an earlier run that does not answer is removed, so that the next start creates another', async () => {
  const removed: string[] = [];
  const { join, pass } = open({
    attach: times => connectionThat(() => times > 1),
    remove: () => void removed.push('forwarder'),
  });
  const refused = assert.rejects(join('a', 0), { code: 'HUB_ENGINE_REFUSED' });
  await pass(10_000);
  await refused;
  assert.equal(removed.length, 1);
  await Promise.all([join('a', 0), pass(0)]);
});

test('a forwarder of an earlier run that is paused is replaced, and servers wait for the next one', async () => {
  const words = 'container 1f is paused, unpause the container before attach';
  const removed: string[] = [];
  const { join, pass, provided } = open({
    attach(times) {
      if (times === 1) throw new EngineError(409, words, 'attach', undefined);
      return connection(false);
    },
    provide: async () => {},
    remove: () => void removed.push('forwarder'),
  });
  await Promise.all([join('a', 0), pass(200)]);
  assert.equal(removed.length, 1);
  assert.equal(provided(), 2);
});

test('a forwarder of an earlier run keeps the lists of other servers for a minute', async () => {
  const heard: string[] = [];
  const { join, pass } = open({ attach: () => connection(false, line => heard.push(line)) });
  await Promise.all([join('a', 0), pass(0)]);
  await pass(55_000);
  await Promise.all([join('b', 1), pass(0)]);
  await pass(20_000);
  const keeps = heard
    .filter(line => line !== '\n')
    .map(line => line.includes('"keeps_others":true'));
  assert.deepEqual([keeps[0], keeps.at(-2), keeps.at(-1)], [true, true, false]);
});
