import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { rebuildBuild } from '../../hub/broker/build.ts';

function asked(base: string, spec: unknown, change: Record<string, string> = {}) {
  return new Map(
    Object.entries({
      t: `agenthub/${base}-memory:1.0.0-0123456789ab`,
      buildargs: JSON.stringify({ PACKAGE: spec }),
      labels: JSON.stringify({ 'io.agenthub.base': base }),
      forcerm: '1',
      ...change,
    }),
  );
}

describe('a package with a valid name is built', () => {
  test.each([
    ['npm', '@modelcontextprotocol/server-memory@2026.1.14'],
    ['npm', '@modelcontextprotocol/server-memory'],
    ['npm', 'left-pad'],
    ['npm', 'left-pad@^1.3.0'],
    ['npm', 'left-pad@latest'],
    ['python', 'mcp-server-time==2026.1.14'],
    ['python', 'mcp-server-time'],
    ['python', 'mcp[cli]>=1.2'],
  ])('%s %s', (base, spec) => {
    const { query, base: folder } = rebuildBuild(asked(base, spec));
    assert.equal(folder, base);
    assert.deepEqual(Object.fromEntries(query), {
      t: `agenthub/${base}-memory:1.0.0-0123456789ab`,
      buildargs: JSON.stringify({ PACKAGE: spec }),
      labels: JSON.stringify({
        'io.agenthub.managed': 'true',
        'io.agenthub.base': base,
        'io.agenthub.package': spec,
      }),
      rm: '1',
      forcerm: '1',
      version: '1',
      memory: '2147483648',
      memswap: '2147483648',
      cpuperiod: '100000',
      cpuquota: '200000',
    });
  });
});

test.each([
  ['npm', { EXTRAS: 'left-pad @org/x@1.2.3' }],
  ['python', { EXTRAS: 'httpx<1 mcp[cli]', BASE: 'python:3.12-slim' }],
  ['python', { BASE: 'python:3.12.4-slim' }],
  ['python', { BASE: 'agenthub/system-python:0123456789ab' }],
  ['npm', { BASE: 'agenthub/system-node:0123456789ab' }],
])('a package of %s is built with %j', (base, more) => {
  const buildargs = JSON.stringify({ PACKAGE: 'x', ...more });
  const { query } = rebuildBuild(asked(base, 'x', { buildargs }));
  assert.deepEqual(JSON.parse(query.get('buildargs') ?? ''), { PACKAGE: 'x', ...more });
});

test.each([
  ['npm', { EXTRAS: 'a --registry=x' }],
  ['npm', { EXTRAS: 'a  b' }],
  ['npm', { EXTRAS: '' }],
  ['npm', { EXTRAS: Array.from({ length: 51 }, () => 'a').join(' ') }],
  ['python', { EXTRAS: 'a -r/etc/passwd' }],
  ['python', { EXTRAS: 'a\nb' }],
  ['python', { EXTRAS: ['a'] }],
  ['python', { BASE: 'evil.example/python:3.12-slim' }],
  ['python', { BASE: 'python:3.12-slim-evil' }],
  ['python', { BASE: 3 }],
  ['npm', { BASE: 'node:24' }],
  ['npm', { BASE: 'python:3.12-slim' }],
  ['npm', { BASE: 'agenthub/system-node:latest' }],
  ['npm', { BASE: 'agenthub/build-mine:0123456789ab' }],
])('a package of %s is not built with %j', (base, more) => {
  const buildargs = JSON.stringify({ PACKAGE: 'x', ...more });
  assert.throws(() => rebuildBuild(asked(base, 'x', { buildargs })), {
    code: 'HUB_BROKER_REFUSED',
  });
});

test('a build has limits, uses the builder that applies them, and has no network unless one is given', () => {
  const { network, query } = rebuildBuild(asked('npm', 'x'));
  assert.equal(network, 'none');
  const bounds = { memory: '1073741824', memswap: '1073741824', cpuquota: '50000' };
  const named = { ...bounds, networkmode: 'hub-.build-1' };
  const given = rebuildBuild(asked('npm', 'x', named));
  assert.equal(given.network, 'hub-.build-1');
  const { rm, forcerm, ...rest } = Object.fromEntries(given.query);
  assert.deepEqual({ ...Object.fromEntries(query), ...bounds }, { ...rest, rm, forcerm });
});

describe('a package with an invalid name is not built', () => {
  test.each<[string, unknown]>([
    ['npm', 'git+https://example.com/x.git'],
    ['npm', 'https://example.com/x.tgz'],
    ['npm', 'github:a/b'],
    ['npm', 'a/b'],
    ['npm', 'file:../x'],
    ['npm', '../x'],
    ['npm', './x'],
    ['npm', '--registry=x'],
    ['npm', '-g'],
    ['npm', 'x; id'],
    ['npm', 'x y'],
    ['npm', 'x\ny'],
    ['npm', 'x@npm:y'],
    ['npm', '$(id)'],
    ['npm', ''],
    ['npm', undefined],
    ['npm', { toString: 'x' }],
    ['python', 'x @ https://example.com/x.whl'],
    ['python', 'git+https://example.com/x.git'],
    ['python', '-r/etc/passwd'],
    ['python', 'x; python_version'],
    ['python', 'x==1 --index-url=y'],
  ])('%s %j', (base, spec) => {
    assert.throws(() => rebuildBuild(asked(base, spec)), { code: 'HUB_BROKER_REFUSED' });
  });
});

test('a build without the results of earlier steps stays one', () => {
  const { query } = rebuildBuild(asked('npm', 'x', { nocache: '1' }));
  assert.equal(query.get('nocache'), '1');
  assert.equal(rebuildBuild(asked('npm', 'x', { nocache: '0' })).query.get('nocache'), null);
});

describe('a build is refused', () => {
  test.each<[string, Record<string, string>, RegExp]>([
    ['from elsewhere', { remote: 'https://example.com' }, /the parameter "remote"/],
    ['with another Dockerfile', { dockerfile: 'x' }, /the parameter "dockerfile"/],
    ['with other hosts', { extrahosts: 'a:1' }, /the parameter "extrahosts"/],
    ['by another builder', { version: '2' }, /the builder "2"/],
    ['without a bound of memory', { memory: '0' }, /"0" as the parameter "memory"/],
    ['with all memory', { memory: '999999999999' }, /the parameter "memory"/],
    ['with swap', { memory: '1073741824', memswap: '-1' }, /"-1" as the parameter "memswap"/],
    ['with more swap than memory', { memswap: '4294967296' }, /the parameter "memswap"/],
    ['without a bound of processors', { cpuquota: '-1' }, /the parameter "cpuquota"/],
    ['by another measure of processors', { cpuperiod: '1000' }, /the parameter "cpuperiod"/],
    ['under a foreign tag', { t: 'redis:8' }, /the tag "redis:8"/],
    ['under the tag of the hub', { t: 'agenthub:0.1.0' }, /the tag "agenthub:0\.1\.0"/],
    ['under the tag of another base', { t: 'agenthub/python-x:1' }, /the tag/],
    ['without a tag', { t: '' }, /the tag ""/],
    [
      'on an unknown base',
      { labels: '{"io.agenthub.base":"../hub"}' },
      /must be "npm" or "python"/,
    ],
    ['without a base', { labels: '{}' }, /must be "npm" or "python"/],
    ['with a further argument', { buildargs: '{"PACKAGE":"x","ALSO":"y"}' }, /argument "ALSO"/],
    ['with a foreign label', { labels: '{"io.agenthub.base":"npm","a":"b"}' }, /label "a"/],
  ])('%s', (_, change, message) => {
    assert.throws(() => rebuildBuild(asked('npm', 'x', change)), {
      code: 'HUB_BROKER_REFUSED',
      message,
    });
  });
});

describe.each(['egress', 'agent', 'ollama-mcp'])("the hub's own image %s", own => {
  const image = { t: `agenthub/${own}:0123456789ab`, labels: `{"io.agenthub.base":"${own}"}` };
  const build = (change: Record<string, string> = {}) =>
    rebuildBuild(new Map(Object.entries({ ...image, buildargs: '{}', ...change })));

  test("is built of the broker's own files, without a network", () => {
    const { base, network, query } = build({ networkmode: 'host' });
    assert.deepEqual([base, network], [own, 'none']);
    assert.equal(query.get('t'), image.t);
    assert.equal(query.get('buildargs'), null);
    assert.deepEqual(JSON.parse(query.get('labels') ?? ''), {
      'io.agenthub.managed': 'true',
      'io.agenthub.base': own,
    });
  });

  test.each<[string, Record<string, string>]>([
    ['another tag', { t: `agenthub/${own}-x:1` }],
    ['an argument', { buildargs: '{"PACKAGE":"x"}' }],
    ['a label', { labels: `{"io.agenthub.base":"${own}","io.agenthub.package":"x"}` }],
    ['another builder', { version: '2' }],
  ])('is not built with %s', (_, change) => {
    assert.throws(() => build(change), { code: 'HUB_BROKER_REFUSED' });
  });
});

test("the image of git is built of the broker's own files, with the network for packages of Debian", () => {
  const asked = (change: Readonly<Record<string, string>>) =>
    rebuildBuild(
      new Map(
        Object.entries({
          t: 'agenthub/git:0123456789ab',
          labels: '{"io.agenthub.base":"git"}',
          buildargs: '{}',
          ...change,
        }),
      ),
    );
  assert.equal(
    asked({ networkmode: 'hub-.build-0123456789ab' }).network,
    'hub-.build-0123456789ab',
  );
  assert.equal(asked({}).network, 'none');
  const foreign = { buildargs: '{"PACKAGE":"x"}' };
  assert.throws(() => asked(foreign), {
    code: 'HUB_BROKER_REFUSED',
    message: /argument "PACKAGE"/,
  });
});

describe('system packages', () => {
  const tag = 'agenthub/system-node:0123456789ab';
  const of = (args: object, change: Record<string, string> = {}) =>
    rebuildBuild(asked('system', '', { t: tag, buildargs: JSON.stringify(args), ...change }));
  const good = { PACKAGES: 'git g++', BASE: 'node:24.21.0-bookworm-slim' };

  test.each([
    good,
    { PACKAGES: 'git', BASE: 'python:3.13.18-slim-trixie' },
    { PACKAGES: 'git', BASE: 'python:3.12-slim' },
  ])('are installed: %j', args => {
    const { base, query } = of(args);
    assert.equal(base, 'system');
    assert.deepEqual(JSON.parse(query.get('buildargs') ?? ''), args);
    assert.equal(query.get('t'), tag);
  });

  test.each<[object, Record<string, string>]>([
    [{ ...good, PACKAGES: '' }, {}],
    [{ ...good, PACKAGES: 'git  jq' }, {}],
    [{ ...good, PACKAGES: 'git -o=x' }, {}],
    [{ ...good, PACKAGES: 'git-' }, {}],
    [{ ...good, PACKAGES: './a.deb' }, {}],
    [{ ...good, PACKAGES: 'git;id' }, {}],
    [{ ...good, PACKAGES: Array.from({ length: 51 }, () => 'git').join(' ') }, {}],
    [{ ...good, BASE: 'evil/node:24.21.0-bookworm-slim' }, {}],
    [{ ...good, BASE: 'sha256:0123' }, {}],
    [{ ...good, BASE_USER: '0' }, {}],
    [good, { t: 'agenthub/npm-a:1-0123456789ab' }],
    [good, { t: 'agenthub/system-node:latest' }],
    [good, { labels: JSON.stringify({ 'io.agenthub.base': 'system', evil: '1' }) }],
  ])('are not installed: %j %j', (args, change) => {
    assert.throws(() => of(args, change), { code: 'HUB_BROKER_REFUSED' });
  });
});

test.each(['dockerfile', 'node-project', 'python-project'])(
  'a build of a folder (%s) is refused with what to do instead',
  base => {
    assert.throws(() => rebuildBuild(asked(base, 'x')), {
      code: 'HUB_BROKER_REFUSED',
      message: /docker build -t NAME FOLDER\) and write "image": "NAME"/,
    });
  },
);
