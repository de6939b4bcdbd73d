import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, isObject } from '#core';
import { startHub, until } from '#helpers/hub';
import { createInstallHub } from '../../installs/hub.ts';
import { send } from '../../transports/raw.ts';

const secret = 'sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz';

async function installing() {
  const config = createInstallHub();
  const hub = await startHub([], { installs: config.installs });
  const ask = async (method: string, path: string, body?: object, headers = hub.ownerHeaders) => {
    const answer = await send(`${hub.url}${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body }),
    });
    return { status: answer.status, body: await answer.json() };
  };
  const listed = async () => {
    const { jobs } = (await ask('GET', '/jobs')).body;
    assert.ok(Array.isArray(jobs));
    return jobs.filter(isObject);
  };
  return {
    hub,
    config,
    ask,
    listed,
    install: (body: object) => ask('POST', '/servers/install', body),
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
    },
  };
}

describe('GET /jobs', () => {
  test('lists installs for every caller, without the output of servers', async () => {
    await using hub = await installing();
    assert.deepEqual(await hub.listed(), []);
    assert.equal((await hub.install({ package: 'echo@1.0.0', name: 'mine' })).status, 201);
    assert.equal((await hub.install({ package: 'absent@1.0.0' })).status, 503);
    const answer = await send(`${hub.hub.url}/jobs`);
    assert.equal(answer.status, 200);
    const { jobs } = await answer.json();
    assert.ok(Array.isArray(jobs));
    const [failed, done]: readonly unknown[] = jobs;
    assert.ok(isObject(failed) && isObject(done));
    assert.deepEqual(Object.keys(done), [
      'id',
      'kind',
      'title',
      'state',
      'progress',
      'started_at',
      'ended_at',
      'principal',
      'error',
    ]);
    assert.deepEqual(
      [done['kind'], done['title'], done['state'], done['principal'], done['error']],
      ['install', 'Install echo@1.0.0', 'done', 'owner', null],
    );
    assert.deepEqual(done['progress'], {
      step: 'write',
      text: 'it works: its entry is written',
    });
    assert.equal(failed['state'], 'failed');
    assert.deepEqual(failed['error'], { code: 'HUB_SERVER_START_FAILED' });
    assert.doesNotMatch(JSON.stringify(jobs), /npm error/);
  });

  test('has no job for a request that was refused before it began', async () => {
    await using hub = await installing();
    assert.equal((await hub.install({ package: 'x y' })).status, 400);
    assert.equal((await hub.install({ package: 'echo@1.0.0', network: 'bridge' })).status, 409);
    assert.deepEqual(await hub.listed(), []);
  });

  test('shows no query of a URL', async () => {
    await using hub = await installing();
    const address = `http://127.0.0.1:1/mcp?key=${secret}&a=hidden`;
    const answer = await hub.install({ package: address, name: 'far' });
    assert.equal(answer.status, 503);
    const [job] = await hub.listed();
    assert.equal(job?.['title'], 'Install http://127.0.0.1:1/mcp');
    assert.doesNotMatch(JSON.stringify(job), /sk-ant|hidden/);
  });
});

describe('GET /jobs/{id}', () => {
  test('has the result and all lines, for the owner', async () => {
    await using hub = await installing();
    await hub.install({ package: 'echo@1.0.0', name: 'mine' });
    await hub.install({ package: 'absent@1.0.0' });
    const [failed, done] = await hub.listed();
    const { body } = await hub.ask('GET', `/jobs/${String(done?.['id'])}`);
    assert.deepEqual(body['result'], { name: 'mine', warnings: [] });
    const written = await hub.ask('GET', `/jobs/${String(failed?.['id'])}`);
    assert.equal(written.body['result'], null);
    assert.match(JSON.stringify(written.body['error']), /did not start/);
    assert.match(JSON.stringify(written.body['lines']), /npm error code E404/);
  });

  test('is 404 for a job that is not kept', async () => {
    await using hub = await installing();
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await hub.ask(method, '/jobs/nobody');
      assert.equal(status, 404);
      assert.match(JSON.stringify(body), /HUB_JOB_UNKNOWN/);
    }
  });
});

describe('GET /jobs/{id}/events', () => {
  const begin = ({ jobs }: Pick<Awaited<ReturnType<typeof startHub>>, 'jobs'>) =>
    jobs.begin({ kind: 'index', title: 'Index', principal: 'owner', cancel: () => {} });

  test('sends each step to every caller, without output lines, and ends with the job', async () => {
    await using hub = await startHub([]);
    const job = begin(hub);
    const stream = await send(`${hub.url}/jobs/${job.id}/events`);
    assert.equal(stream.status, 200);
    assert.equal(stream.headers['content-type'], 'text/event-stream');
    await until(() => stream.messages().length === 1);
    job.report({ step: 'read', text: 'reading' });
    job.report({ step: 'read', text: 'a line of a server' });
    job.report({ step: 'write', text: 'writing' });
    begin(hub).done({});
    await until(() => stream.messages().length === 3);
    job.failed(new HubError('HUB_PACKAGE_UNKNOWN', 'a message for the owner'));
    await until(() => stream.ended());
    assert.deepEqual(
      stream.messages().map(({ id, state, progress }) => {
        assert.equal(id, job.id);
        return [state, isObject(progress) ? progress['text'] : progress];
      }),
      [
        ['running', null],
        ['running', 'reading'],
        ['running', 'writing'],
        ['failed', 'writing'],
      ],
    );
    assert.deepEqual(stream.messages().at(-1)?.['error'], { code: 'HUB_PACKAGE_UNKNOWN' });
    assert.doesNotMatch(stream.text(), /a line of a server|a message for the owner/);
    assert.match(stream.text(), /^event: job\n/);
  });

  test('of an ended job sends its state and ends', async () => {
    await using hub = await startHub([]);
    const job = begin(hub);
    job.done({});
    const stream = await send(`${hub.url}/jobs/${job.id}/events`);
    await until(() => stream.ended());
    assert.deepEqual(
      stream.messages().map(({ state }) => state),
      ['done'],
    );
    const absent = await send(`${hub.url}/jobs/nobody/events`);
    assert.equal(absent.status, 404);
    assert.match(await absent.body(), /HUB_JOB_UNKNOWN/);
  });
});

describe('DELETE /jobs/{id}', () => {
  test('cancels an install: nothing of it is left, and the waiting client gets an error', async () => {
    await using hub = await installing();
    const waiting = hub.install({ package: 'never-ready@1.0.0', name: 'mine' });
    await until(() => hub.config.launched.length > 0);
    const [job] = await hub.listed();
    assert.equal(job?.['state'], 'running');
    const cancelled = await hub.ask('DELETE', `/jobs/${String(job['id'])}`);
    assert.equal(cancelled.status, 200);
    assert.equal(cancelled.body['state'], 'cancelled');
    const { status, body } = await waiting;
    assert.equal(status, 499);
    assert.ok(isObject(body['error']));
    assert.equal(body['error']['message'], 'mine was not installed: it was cancelled');
    assert.equal(hub.config.entries.size, 0);
    const again = await hub.ask('DELETE', `/jobs/${String(job['id'])}`);
    assert.deepEqual(again, cancelled, 'an ended job stays as it is');
  });

  test('a client that disconnects cancels its install, and the job says so', async () => {
    await using hub = await installing();
    const hangUp = new AbortController();
    const asked = send(`${hub.hub.url}/servers/install`, {
      method: 'POST',
      headers: { ...hub.hub.ownerHeaders, 'content-type': 'application/json' },
      body: { package: 'never-ready@1.0.0' },
      signal: hangUp.signal,
    }).catch(() => undefined);
    await until(() => hub.config.launched.length > 0);
    const ended = Promise.withResolvers<void>();
    using _ = hub.hub.jobs.changed(() => {
      if (hub.hub.jobs.list()[0]?.state === 'cancelled') ended.resolve();
    });
    hangUp.abort();
    await Promise.all([asked, ended.promise]);
    const [job] = await hub.listed();
    const { body } = await hub.ask('GET', `/jobs/${String(job?.['id'])}`);
    assert.match(JSON.stringify(body['error']), /the client hung up/);
  });
});

test('the text of a bug is not shown', async () => {
  const installs = {
    review: async () => [],
    trial: async () => assert.fail('no trial was asked for'),
    install(_: unknown, tell: (progress: { step: 'build'; text: string }) => void) {
      tell({ step: 'build', text: 'begun' });
      return Promise.reject(new TypeError('of the inside'));
    },
    remove: () => Promise.reject(new HubError('HUB_SERVER_UNKNOWN', 'no')),
  };
  await using hub = await startHub([], { installs });
  await send(`${hub.url}/servers/install`, {
    method: 'POST',
    headers: { ...hub.ownerHeaders, 'content-type': 'application/json' },
    body: { package: 'x' },
  });
  assert.match(JSON.stringify(hub.jobs.list()), /the hub failed; its log says why under/);
  assert.doesNotMatch(JSON.stringify(hub.jobs.list()), /of the inside/);
});
