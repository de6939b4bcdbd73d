import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { startHub, until } from '#helpers/hub';
import type { InstallProgress, InstallRequest, Installed, LeftBehind } from '#installs';
import { leadsTo, owner } from './scene.ts';

const secret = 'sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz';

/** Creates installs that the test ends. */
function createInstalls(left: readonly LeftBehind[] = []) {
  const begun: {
    readonly request: InstallRequest;
    readonly tell: (progress: InstallProgress) => void;
    readonly signal: AbortSignal;
    readonly end: (done: Installed) => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const removed: (readonly [name: string, purge: boolean])[] = [];
  return {
    begun,
    removed,
    installs: {
      review: async () => [],
      trial: async () => assert.fail('no trial was asked for'),
      async install(
        request: InstallRequest,
        tell: (progress: InstallProgress) => void,
        signal: AbortSignal,
      ) {
        const { promise, resolve, reject } = Promise.withResolvers<Installed>();
        signal.addEventListener('abort', () =>
          reject(new HubError('HUB_CALL_CANCELLED', 'fresh was not installed: it was given up')),
        );
        begun.push({ request, tell, signal, end: resolve, fail: reject });
        return await promise;
      },
      async remove(name: string, { purge }: { readonly purge: boolean }) {
        removed.push([name, purge]);
        return { name, removed: [], left };
      },
    },
  };
}

test('without a container engine, the form says that the server runs as a process, without a sandbox', async () => {
  const { installs } = createInstalls();
  await using hub = await startHub([], { installs });
  const { text } = await owner(hub).get('/dashboard/install');
  assert.match(
    text,
    /runs as a process on this machine, with your permissions and without a sandbox/,
  );
  assert.doesNotMatch(text, /builds an image/);
});

test('an install is started by a form, updates itself, and shows each step and the outcome', async () => {
  const { begun, installs } = createInstalls();
  await using hub = await startHub([], { installs });
  const page = owner(hub);
  assert.match(
    (await page.get('/dashboard/install')).text,
    /Package, image or address[\s\S]*No jobs yet\./,
  );
  const way = leadsTo(
    await page.post('/dashboard/install', {
      package: 'docker:fresh:1.0',
      name: 'fresh',
      network: 'bridge',
      args: 'one\r\ntwo words\r\n',
      env: `API_KEY=${secret}\nA=b=c`,
    }),
  );
  const [job] = begun;
  assert.ok(job);
  const { request } = job;
  assert.deepEqual(request.source, { package: 'docker:fresh:1.0' });
  assert.deepEqual(
    [request.name, request.args, request.env, request.rest],
    ['fresh', ['one', 'two words'], { API_KEY: secret, A: 'b=c' }, { network: 'bridge' }],
  );

  job.tell({ step: 'pull', text: `the image comes <b> with ${secret}` });
  const running = await page.get(way);
  assert.match(running.text, /running[\s\S]*pull +the image comes &lt;b&gt; with \[redacted\]/);
  assert.match(running.text, /<noscript><meta http-equiv="refresh" content="3"><\/noscript>/);
  assert.match(running.text, new RegExp(`hx-get="${way}/partial"`));

  job.end({ name: 'fresh', warnings: ['env.API_KEY may be a secret'] });
  await until(() => true);
  const done = await page.get(`${way}/partial`);
  assert.match(done.text, /Installed as <a href="\/dashboard\/servers\/fresh">fresh<\/a>/);
  assert.match(done.text, /env\.API_KEY may be a secret/);
  assert.doesNotMatch(done.text, /hx-trigger/, 'it does not change any more');
  assert.doesNotMatch((await page.get(way)).text, /http-equiv="refresh"/);
  assert.match(
    (await page.get('/dashboard/install')).text,
    /docker:fresh:1\.0<\/a>[\s\S]*installed/,
  );
});

test('settings of an entry beyond the default sandbox are confirmed, each by a checkbox', async () => {
  const { begun, installs } = createInstalls();
  const asked = [
    { name: 'network:bridge', message: 'It can reach the network.' },
    { name: 'mount:/srv/"a":/x:rw', message: `It can change ${secret}.` },
  ];
  await using hub = await startHub([], { installs: { ...installs, review: async () => asked } });
  const page = owner(hub);
  const form = { package: 'docker:fresh:1.0', network: 'bridge' };
  const first = await page.post('/dashboard/install', form);
  assert.equal(first.status, 409);
  assert.match(
    first.text,
    /name="confirm" value="network:bridge" required> It can reach the network\. <code>/,
  );
  assert.match(first.text, /value="mount:\/srv\/&quot;a&quot;:\/x:rw" required>/);
  assert.doesNotMatch(first.text, new RegExp(secret));
  assert.match(first.text, /name="package" value="docker:fresh:1\.0"/);

  const half = await page.post('/dashboard/install', { ...form, confirm: 'network:bridge' });
  assert.equal(half.status, 409);
  assert.match(half.text, /value="network:bridge" required checked>/);
  assert.equal(begun.length, 0);

  const confirm = asked.map(({ name }) => name);
  const checked = new URLSearchParams(form);
  for (const name of confirm) checked.append('confirm', name);
  leadsTo(await page.post('/dashboard/install', checked));
  assert.deepEqual(begun[0]?.request.confirm, confirm);
});

test('an install that fails shows the reason and the remedy; a cancelled one is aborted', async () => {
  const { begun, installs } = createInstalls();
  await using hub = await startHub([], { installs });
  const page = owner(hub);
  const first = leadsTo(await page.post('/dashboard/install', { package: '@org/server' }));
  begun[0]?.fail(new HubError('HUB_PACKAGE_UNKNOWN', 'npm has no @org/server: look at its name'));
  const { text } = await page.get(first);
  assert.match(text, /notice bad">npm has no @org\/server: look at its name/);
  assert.match(text, /Try again/);

  const second = leadsTo(await page.post('/dashboard/install', { package: '@org/server' }));
  const id = second.split('/').at(-1) ?? '';
  assert.equal(
    leadsTo(await page.post(`/dashboard/actions/cancel-install/${id}`)).split('?')[0],
    second,
  );
  assert.equal(begun[1]?.signal.aborted, true);
  assert.match((await page.get(second)).text, /fresh was not installed/);
});

test('a failure by a bug is in the log of the hub, and not on the page', async () => {
  const { begun, installs } = createInstalls();
  await using hub = await startHub([], { installs });
  const way = leadsTo(await owner(hub).post('/dashboard/install', { package: 'x' }));
  begun[0]?.fail(new TypeError('a detail of the inside'));
  const { text } = await owner(hub).get(way);
  assert.match(text, /the hub failed; its log says why under/);
  assert.doesNotMatch(text, /a detail of the inside/);
  assert.ok(
    hub.logged.some(
      ({ level, fields }) => level === 'error' && JSON.stringify(fields).includes('a detail'),
    ),
  );
});

test('an invalid form names the field, keeps its values, and starts nothing', async () => {
  const { begun, installs } = createInstalls();
  await using hub = await startHub([], { installs });
  const rows = [
    [{ package: '', name: 'fresh' }, /package: is missing/],
    [
      { package: 'x', name: 'fresh', env: 'no equals sign' },
      /env: a line of the environment has no/,
    ],
    [{ package: 'x', name: 'fresh', transport: 'pigeon' }, /transport: /],
  ] as const;
  for (const [form, problem] of rows) {
    const { status, text } = await owner(hub).post('/dashboard/install', form);
    assert.equal(status, 400);
    assert.match(text, problem);
    assert.match(text, /name="name" value="fresh"/);
  }
  assert.equal(begun.length, 0);
});

test('no more than twenty installs run at once, and old ones are dropped', async () => {
  const { begun, installs } = createInstalls();
  await using hub = await startHub([], { installs });
  const begin = () => owner(hub).post('/dashboard/install', { package: 'x' });
  const first = leadsTo(await begin());
  for (let at = 1; at < 20; at++) leadsTo(await begin());
  assert.equal((await begin()).status, 503);
  begun[0]?.end({ name: 'x' });
  await until(() => true);
  leadsTo(await begin());
  assert.equal((await owner(hub).get(first)).status, 404);
});

test('a server is removed after a confirmation page, with its data only if that was chosen', async () => {
  const { installs, removed } = createInstalls();
  await using hub = await startHub([{ name: 'echo' }], { installs });
  const page = owner(hub);
  const { text } = await page.get('/dashboard/servers/echo/remove');
  assert.match(text, /Remove echo\?/);
  assert.match(text, /action="\/dashboard\/actions\/remove\/echo"/);
  assert.deepEqual(removed, []);
  assert.equal(
    leadsTo(await page.post('/dashboard/actions/remove/echo')),
    '/dashboard?done=remove&about=echo',
  );
  leadsTo(await page.post('/dashboard/actions/remove/echo', { purge: 'true' }));
  assert.deepEqual(removed, [
    ['echo', false],
    ['echo', true],
  ]);
  assert.equal((await page.post('/dashboard/actions/remove/nobody')).status, 404);
});

test('after a removal, a page shows what is left, and why', async () => {
  const why = 'nothing in the config uses it now. "agenthub secret remove ECHO_KEY" removes it';
  const { installs } = createInstalls([{ kind: 'secret', name: 'ECHO_KEY', why }]);
  await using hub = await startHub([{ name: 'echo' }], { installs });
  const { status, text } = await owner(hub).post('/dashboard/actions/remove/echo');
  assert.equal(status, 200);
  assert.match(text, /<h1>Removed echo<\/h1>/);
  assert.match(text, /<li>the secret <code>ECHO_KEY<\/code>: nothing in the config uses it now\./);
});
