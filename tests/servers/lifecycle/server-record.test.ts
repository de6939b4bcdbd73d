import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  type Fixture,
  type Logged,
  createFixtureServers,
  createRecordingLog,
  until,
} from '#helpers/hub';

/** Creates a supervised fixture server, and collects its log lines from level info, without its stderr. */
function scene(fixture: Fixture) {
  const { log, logged } = createRecordingLog();
  const servers = createFixtureServers([fixture], { log });
  const lines = () =>
    logged.filter(({ level, message }) => level !== 'debug' && message !== 'stderr').map(lineOf);
  return {
    servers,
    server: servers.get(fixture.name),
    lines,
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

const lineOf = ({ level, message }: Logged) => `${level} ${message}`;

describe('at LOG_LEVEL=info', () => {
  test('a start, a stop by hand and another start are a line each', async () => {
    await using running = scene({ name: 'echo' });
    const { server, lines } = running;
    await server.ready();
    await Promise.all([server.stop(true), server.stop(true)]);
    server.start();
    await server.ready();
    assert.deepEqual(lines(), ['info running', 'info stopping', 'info stopped', 'info running']);
  });

  test('a server that was never started ends without a log line', async () => {
    await using idle = scene({ name: 'echo' });
    await idle.server.close('stopping');
    assert.deepEqual(idle.lines(), []);
  });

  test('a death is a warning with the time of the restart, and a restart logs that it runs', async () => {
    await using dying = scene({ name: 'echo' });
    const { server, lines } = dying;
    const { instance } = await server.ready();
    process.kill(Number(instance.about['pid']), 'SIGKILL');
    await until(() => server.restarts === 1 && server.running !== undefined);
    const [first, died = '', ...rest] = lines();
    assert.equal(first, 'info running');
    assert.match(died, /^warn echo is gone: .*SIGKILL.*, starting again in \d+ ms$/);
    assert.deepEqual(rest, ['info running']);
  });

  test('giving up is one error, after a warning for each failed start', async () => {
    await using failing = scene({ name: 'exit-at-once', maxRestarts: 1 });
    failing.server.start();
    await until(() => failing.server.status.state === 'failed');
    const [warning = '', error = '', ...rest] = failing.lines();
    assert.match(
      warning,
      /^warn exit-at-once did not start: .*code 3.*, starting again in \d+ ms$/,
    );
    assert.match(
      error,
      /^error the server has failed: gave up after 1 restart: it did not start: /,
    );
    assert.deepEqual(rest, []);
  });

  test('the death of an instance per session is a warning: the next call starts another', async () => {
    await using running = scene({ name: 'who', instance: 'session' });
    const { server, servers, lines } = running;
    const own = servers.instances.of(server, {}, undefined, () => false);
    const { instance } = await own.ready();
    process.kill(Number(instance.about['pid']), 'SIGKILL');
    await until(() => own.status.state === 'stopped');
    const [first, died = '', ...rest] = lines();
    assert.equal(first, 'info running');
    assert.match(
      died,
      /^warn who is gone: .*SIGKILL.*; the next call of its session starts it again$/,
    );
    assert.deepEqual(rest, ['info stopped']);
  });
});
