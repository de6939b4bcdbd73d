import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, isObject, silent } from '#core';
import { asBytes } from '#helpers/calls';
import { createManualClock } from '#helpers/clock';
import { type Fixture, createFixtureServers, createRecordingLog, until } from '#helpers/hub';
import { readMessage } from '#jsonrpc';
import { type Server, type Servers, describeServer, restartNow } from '#servers';

const clientOf = (name: string) => ({
  capabilities: '{"roots":{"listChanged":true},"x":1}',
  clientInfo: `{"name":"${name}","version":"1"}`,
});

function start(
  more: Partial<Fixture> = {},
  needs: Parameters<typeof createFixtureServers>[1] = { log: silent },
) {
  const servers = createFixtureServers([{ name: 'who', instance: 'session', ...more }], needs);
  return Object.assign(servers, { base: servers.get('who') });
}

const never = () => false;

/** Returns the instance of a session. Any object can stand for a session. */
const of = (
  servers: Servers,
  session: object,
  name = 'ada',
  mayEnd: (session: object) => boolean = never,
): Server => servers.instances.of(servers.get('who'), session, clientOf(name), mayEnd);

/** Calls a tool as a client that answers no requests. Returns the tool's answer. */
async function call(server: Server, tool: string): Promise<unknown> {
  const { upstream } = await server.ready();
  const params = { name: tool, arguments: {} };
  const request = readMessage(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })),
  );
  if (request.kind !== 'request') return assert.fail(request.kind);
  const { answer } = upstream.relay(
    asBytes(request),
    {
      owner: { hasOpenRequest: false, serverRequest() {}, notification() {} },
      responseStream: { send() {} },
      progressToken: undefined,
    },
    600_000,
  );
  const { result }: { readonly result: unknown } = JSON.parse((await answer).toString());
  const content = isObject(result) ? result['content'] : undefined;
  const text: unknown = Array.isArray(content) && isObject(content[0]) && content[0]['text'];
  return typeof text === 'string' ? JSON.parse(text) : result;
}

const pidOf = (server: Server): number => {
  const pid = server.running?.instance.about['pid'];
  return typeof pid === 'number' ? pid : assert.fail('it does not run');
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('an instance of a session', () => {
  test('is a process of its own, with the information and capabilities of its client', async () => {
    await using servers = start();
    const [ada, grace] = [{}, {}];
    const opened: object[] = [];
    servers.instances.opened(own => opened.push(own));
    const first = of(servers, ada, 'ada');
    assert.equal(of(servers, ada, 'ada'), first, 'the session keeps it');
    assert.deepEqual(opened, [{ server: first, base: servers.base, session: ada }]);
    const second = of(servers, grace, 'grace');
    const [one, two] = await Promise.all([call(first, 'who'), call(second, 'who')]);
    assert.ok(isObject(one) && isObject(two));
    assert.notEqual(one['pid'], two['pid']);
    assert.deepEqual(one['capabilities'], { roots: { listChanged: true }, x: 1 });
    assert.deepEqual(two['clientInfo'], { name: 'grace', version: '1' });
    assert.equal(servers.instances.count(servers.base), 2);
    assert.equal(describeServer(servers.base)['instances'], 2);
    assert.equal(describeServer(servers.base)['instance_mode'], 'session');
    assert.equal(servers.base.status.state, 'stopped', 'the shared one is another');
    assert.equal(
      describeServer(createFixtureServers([{ name: 'who' }], { log: silent }).get('who'))[
        'instance_mode'
      ],
      'shared',
    );
  });

  test('starts with the known items of its server, so that clients see no change', async () => {
    await using servers = start();
    await servers.base.ready();
    const own = of(servers, {});
    const changed: string[] = [];
    own.listed(kind => changed.push(kind));
    assert.equal(own.listing, servers.base.listing);
    await own.ready();
    assert.deepEqual(changed, []);
  });

  test('exits with its session, and is removed', async () => {
    await using servers = start();
    const session = {};
    const own = of(servers, session);
    await own.ready();
    const pid = pidOf(own);
    servers.instances.release(session);
    await until(() => !isAlive(pid) && servers.instances.count(servers.base) === 0);
    await assert.rejects(own.ready(), { code: 'HUB_SHUTTING_DOWN' });
    servers.instances.release(session);
    assert.notEqual(of(servers, session), own);
  });

  test('that dies is restarted only by the next call', async () => {
    await using servers = start();
    const own = of(servers, {});
    await assert.rejects(call(own, 'exit'), { code: 'HUB_SERVER_DOWN' });
    await until(() => own.status.state === 'stopped');
    assert.equal(servers.instances.count(servers.base), 0);
    assert.match(own.lastError?.message ?? '', /exited with code 3/);
    assert.ok(isObject(await call(own, 'who')));
    assert.equal(servers.instances.count(servers.base), 1);
  });

  test('that cannot start reports why, does not count, and is retried', async () => {
    await using servers = start({ file: 'exit-at-once.mjs', maxInstances: 1 });
    for (const session of [{}, {}])
      for (const _ of ['first', 'again']) {
        const own = of(servers, session);
        await assert.rejects(own.ready(), { code: 'HUB_SERVER_START_FAILED' });
        assert.equal(servers.instances.count(servers.base), 0);
      }
  });

  test('above the maximum is refused, with the key to change, until one has ended', async () => {
    await using servers = start({ maxInstances: 2 });
    const [first, second, third] = [{}, {}, {}];
    of(servers, first);
    of(servers, second);
    assert.throws(
      () => of(servers, third),
      (error: unknown) => {
        assert.ok(error instanceof HubError);
        assert.equal(error.code, 'HUB_INSTANCES_FULL');
        assert.match(error.message, /"max_instances"/);
        assert.equal(error.data.retryable, true);
        return true;
      },
    );
    of(servers, first);
    servers.instances.release(second);
    await until(() => servers.instances.count(servers.base) === 1);
    await of(servers, third).ready();
  });

  test('that is idle for long is stopped, and restarted by the next call', async () => {
    const clock = createManualClock();
    await using servers = start({ instanceIdleMs: 60_000 }, { log: silent, clock });
    const session = {};
    const own = of(servers, session);
    await own.ready();
    const pid = pidOf(own);
    clock.advance(59_000);
    of(servers, session);
    clock.advance(59_000);
    assert.equal(own.status.state, 'running', 'counted from the last call on');
    const waiting = call(own, 'wait');
    waiting.catch(() => undefined);
    await new Promise(setImmediate);
    clock.advance(120_000);
    assert.equal(own.status.state, 'running', 'somebody waits for its answer');
    own.running?.upstream.fail(new HubError('HUB_CALL_TIMEOUT', 'given up'));
    await assert.rejects(waiting);
    clock.advance(60_000);
    await until(() => own.status.state === 'stopped');
    assert.equal(isAlive(pid), false);
    assert.equal(servers.instances.count(servers.base), 0);
    assert.equal(of(servers, session), own);
    await own.ready();
    assert.notEqual(pidOf(own), pid);
  });

  test('is stopped after its own idle time, though another server has a longer one', async () => {
    const clock = createManualClock();
    await using servers = createFixtureServers(
      [
        { name: 'long', file: 'who.mjs', instance: 'session', instanceIdleMs: 600_000 },
        { name: 'who', instance: 'session', instanceIdleMs: 60_000 },
      ],
      { log: silent, clock },
    );
    const session = {};
    const long = servers.instances.of(servers.get('long'), session, clientOf('ada'), never);
    const short = of(servers, session);
    await Promise.all([long.ready(), short.ready()]);
    clock.advance(60_000);
    await until(() => short.status.state === 'stopped');
    assert.equal(long.status.state, 'running');
  });

  test('is displaced by another if its client is disconnected, the longest unused first', async () => {
    const clock = createManualClock();
    await using servers = start({ maxInstances: 2 }, { log: silent, clock });
    const [gone, here, next] = [{}, {}, {}];
    const isGone = (session: object) => session !== here;
    const first = of(servers, here);
    await first.ready();
    clock.advance(1);
    const second = of(servers, gone);
    await second.ready();
    assert.throws(() => of(servers, next), { code: 'HUB_INSTANCES_FULL' });
    await of(servers, next, 'alan', isGone).ready();
    assert.equal(servers.instances.count(servers.base), 2);
    assert.equal(first.status.state, 'running');
    await until(() => second.status.state === 'stopped');
  });

  test('that has just failed can be requested again at once', async () => {
    await using servers = start();
    const own = of(servers, {});
    await own.ready();
    const again = Promise.withResolvers<unknown>();
    using _ = own.changed(({ state }) => {
      if (state === 'stopped') again.resolve(own.ready());
    });
    await assert.rejects(call(own, 'exit'));
    await again.promise;
    assert.equal(own.status.state, 'running');
  });

  test('is not idle while a client listens to it, and is not displaced either', async () => {
    const clock = createManualClock();
    await using servers = start(
      { instanceIdleMs: 60_000, maxInstances: 1 },
      { log: silent, clock },
    );
    const own = of(servers, {});
    await own.ready();
    let heard: Server | undefined = own;
    servers.instances.hearWith(instance => instance === heard);
    clock.advance(600_000);
    assert.equal(own.status.state, 'running');
    assert.throws(() => of(servers, {}, 'alan', () => true), { code: 'HUB_INSTANCES_FULL' });
    heard = undefined;
    clock.advance(120_000);
    await until(() => own.status.state === 'stopped');
  });

  test('continues when the shared instance dies', async () => {
    await using servers = start();
    const own = of(servers, {});
    await Promise.all([own.ready(), servers.base.ready()]);
    process.kill(pidOf(servers.base), 'SIGKILL');
    await until(() => servers.base.restarts === 1 && servers.base.running !== undefined);
    assert.equal(own.status.state, 'running');
  });

  test('of a server that an operator stops ends, and none is opened until a start', async () => {
    await using servers = start();
    const session = {};
    const own = of(servers, session);
    await Promise.all([own.ready(), servers.base.ready()]);
    const pid = pidOf(own);
    await servers.base.stop(true);
    await until(() => !isAlive(pid));
    assert.throws(() => of(servers, session), { code: 'HUB_SERVER_STOPPED' });
    await servers.base.stop(false);
    await of(servers, session).ready();
  });

  test('is not opened while its server is being stopped by hand or disabled', async () => {
    const refusalDuring = async (end: (base: Server) => Promise<void>) => {
      await using servers = start();
      await servers.base.ready();
      const stopping = Promise.withResolvers<void>();
      using _ = servers.base.changed(({ state }) => {
        if (state === 'stopping') stopping.resolve();
      });
      const ended = end(servers.base);
      await stopping.promise;
      try {
        return of(servers, {}).status.state;
      } catch (error) {
        return error instanceof HubError ? error.code : error;
      } finally {
        await ended;
      }
    };
    assert.equal(await refusalDuring(base => base.stop(true)), 'HUB_SERVER_STOPPED');
    assert.equal(
      await refusalDuring(base => base.reconfigure({ ...base.config, enabled: false }, true)),
      'HUB_SERVER_DISABLED',
    );
    assert.equal(await refusalDuring(base => base.stop(false)), 'stopped');
  });

  test('fails its call for good when its server is stopped by hand or disabled, and for now when it is restarted', async () => {
    const failureOf = async (end: (base: Server) => Promise<void>) => {
      await using servers = start();
      const own = of(servers, {});
      await servers.base.ready();
      await own.ready();
      const failed = call(own, 'wait').catch((error: unknown) => error);
      await until(() => own.running?.upstream.inFlight() === 1);
      await end(servers.base);
      const error = await failed;
      assert.ok(error instanceof HubError);
      return [error.message, error.data.retryable];
    };
    assert.deepEqual(await failureOf(base => base.stop(true)), [
      'who is gone: it was stopped by hand. Start it with "agenthub start who"',
      false,
    ]);
    assert.deepEqual(
      await failureOf(base => base.reconfigure({ ...base.config, enabled: false }, true)),
      [
        'who is gone: it is disabled in the config. Remove "disabled": true or "enabled": false from its entry to use it',
        false,
      ],
    );
    assert.deepEqual(await failureOf(restartNow), ['who is gone: it was stopped', true]);
  });

  test('whose start is stopped fails its waiting callers', async () => {
    await using servers = start();
    const own = of(servers, {});
    const [waiting, stopped] = [own.ready(), own.stop(false)];
    await assert.rejects(waiting, { code: 'HUB_SERVER_STOPPED' });
    await stopped;
  });

  test('that is requested while it is stopping is started afterwards', async () => {
    await using servers = start();
    const own = of(servers, {});
    await own.ready();
    const pid = pidOf(own);
    const ended = own.stop(false);
    await own.ready();
    assert.notEqual(pidOf(own), pid);
    await ended;
    assert.equal(own.status.state, 'running');
  });

  test('passes its advice to the server, once, where an operator reads it', async () => {
    const { log, logged } = createRecordingLog();
    await using servers = start({}, { log });
    for (const session of [{}, {}]) of(servers, session).advise('Set "instance"');
    assert.deepEqual(describeServer(servers.base)['advice'], ['Set "instance"']);
    assert.equal(logged.filter(({ level }) => level === 'warn').length, 1);
  });

  test('leaves nothing after a thousand of them', async () => {
    const clock = createManualClock();
    await using servers = start({}, { log: silent, clock });
    for (let round = 0; round < 1_000; round++) {
      const session = {};
      of(servers, session);
      servers.instances.release(session);
      await Promise.resolve();
    }
    await until(() => servers.instances.count(servers.base) === 0);
    clock.advance(24 * 3_600_000);
    assert.equal(clock.waiting, 0);
  });

  test('ends with the hub', async () => {
    const servers = start();
    const owns = [{}, {}].map(session => of(servers, session));
    await Promise.all(owns.map(own => own.ready()));
    const pids = owns.map(pidOf);
    await servers.stopAll();
    assert.deepEqual(pids.map(isAlive), [false, false]);
  });
});
