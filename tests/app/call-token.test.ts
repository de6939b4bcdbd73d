import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import type { LocalLaunch, ServerConfig } from '#config';
import { createEmitter } from '#core';
import { configOf, createRecordingLog } from '#helpers/hub';
import { callTokenFile } from '#store';
import { createCallToken } from '../../hub/app/call-token.ts';

type Local = Partial<Omit<LocalLaunch, 'sandbox'>> & { readonly network?: 'none' | 'bridge' };

/** Returns a server in a container, by default without a network. */
function serverOf(launch: Local = {}, config: Partial<ServerConfig> = {}): ServerConfig {
  const usual = configOf({ name: 'echo' });
  assert.ok(usual.launch.kind === 'local');
  const { network = 'none', ...own } = launch;
  const sandbox = { ...usual.launch.sandbox, network };
  return {
    ...usual,
    ...config,
    launch: { ...usual.launch, runtime: 'docker', image: 'echo:1', ...own, sandbox },
  };
}

const offline = serverOf();
const networked = serverOf({ network: 'bridge' });

type Start = {
  readonly servers?: readonly ServerConfig[];
  readonly forwarder?: string | undefined;
  readonly launched?: string;
  readonly auto?: 'docker' | 'process';
};

/** Starts a hub whose engine and config the test changes. */
function start({ servers = [networked], launched, auto = 'docker', ...engine }: Start = {}) {
  const path = mkdtempSync(join(tmpdir(), 'agenthub-token-'));
  const { log, logged } = createRecordingLog();
  const { event: changed, fire } = createEmitter<void>();
  const exposure = {
    changed,
    forwarder: 'forwarder' in engine ? engine.forwarder : 'Docker Desktop',
    networked: launched,
  };
  const source: { current: { readonly servers: readonly ServerConfig[] } } = {
    current: { servers },
  };
  const ended: string[] = [];
  const callToken = createCallToken(
    { dataDir: { path }, exposure, place: { auto, dataDir: path }, source, log },
    reason => void ended.push(reason),
  );
  return {
    callToken,
    exposure,
    fire,
    ended,
    logged,
    path,
    file: join(path, callTokenFile),
    apply: (...next: readonly ServerConfig[]) => (source.current = { servers: next }),
    levels: () => logged.map(({ level }) => level),
    [Symbol.dispose]: () => rmSync(path, { recursive: true }),
  };
}

const npm = { ecosystem: 'npm', spec: 'a-package' } as const;

test.each<readonly [what: string, given: Start, needed: boolean]>([
  ['a server has a network', {}, true],
  ['no server has a network', { servers: [offline] }, false],
  ['a later server has one', { servers: [offline, networked] }, true],
  [
    'a package is built with one',
    { servers: [serverOf({ image: undefined, package: npm })] },
    true,
  ],
  [
    'it has one, and is disabled',
    { servers: [serverOf({ network: 'bridge' }, { enabled: false })] },
    false,
  ],
  [
    'it runs as a process',
    { servers: [serverOf({ network: 'bridge', runtime: 'process' })] },
    false,
  ],
  [
    'it runs as a process for want of an engine',
    { servers: [serverOf({ image: undefined, package: npm, runtime: 'auto' })], auto: 'process' },
    false,
  ],
  [
    'it runs elsewhere',
    { servers: [configOf({ name: 'far', url: 'https://far.example/' })] },
    false,
  ],
  ['a removed server was launched with one', { servers: [], launched: 'gone' }, true],
  ['the engine forwards nothing', { forwarder: undefined }, false],
  [
    'the engine forwards nothing, and one was launched',
    { forwarder: undefined, launched: 'gone' },
    false,
  ],
])('whether calls need a token where %s', async (_what, given, needed) => {
  using hub = start(given);
  await hub.callToken.refresh();
  assert.equal(hub.callToken.current() !== undefined, needed);
  assert.equal(hub.ended.length, needed ? 1 : 0);
  assert.deepEqual(readdirSync(hub.path), needed ? [callTokenFile] : []);
});

describe('the token', () => {
  test('is that of its file, which the next run of the hub reads', async () => {
    using hub = start();
    await hub.callToken.refresh();
    const { token, why } = hub.callToken.current() ?? assert.fail();
    assert.equal(readFileSync(hub.file, 'utf8').trim(), token);
    assert.match(token, /^[\w-]{43}$/);
    assert.equal(
      why,
      'Docker Desktop lets containers connect to this machine, and echo has a network or is built with one',
    );
    const [line] = hub.logged;
    assert.deepEqual([line?.level, line?.fields], ['warn', { server: 'echo' }]);
    assert.ok(!JSON.stringify(hub.logged).includes(token));
  });

  test('is a random one that no client knows until the file is read', async () => {
    using hub = start();
    const read = hub.callToken.refresh();
    const unknown = hub.callToken.current()?.token ?? assert.fail();
    assert.match(unknown, /^[\w-]{43}$/);
    await read;
    assert.notEqual(hub.callToken.current()?.token, unknown);
  });

  test('is required at once when the engine turns out to forward ports, or launches a server with a network', () => {
    for (const change of ['forwarder', 'networked'] as const) {
      using hub = start({
        servers: change === 'forwarder' ? [networked] : [offline],
        ...(change === 'forwarder' && { forwarder: undefined }),
      });
      assert.equal(hub.callToken.current(), undefined);
      hub.exposure[change] = 'Docker Desktop';
      hub.fire();
      assert.notEqual(hub.callToken.current(), undefined, change);
      assert.deepEqual(hub.ended, ['calls need a token from now on']);
    }
  });

  test('is required as soon as the config changes, before any event', async () => {
    using hub = start({ servers: [offline] });
    await hub.callToken.refresh();
    hub.apply(networked);
    assert.notEqual(hub.callToken.current(), undefined);
    hub.apply(offline);
    assert.equal(hub.callToken.current(), undefined);
    assert.deepEqual(hub.levels(), ['warn', 'info']);
  });

  test('is the same when it is required again, and connections without it end each time', async () => {
    using hub = start();
    await hub.callToken.refresh();
    const first = hub.callToken.current()?.token;
    hub.apply(offline);
    await hub.callToken.refresh();
    hub.apply(networked);
    await hub.callToken.refresh();
    assert.equal(hub.callToken.current()?.token, first);
    assert.equal(hub.ended.length, 2);
  });

  test('ends no connection while it stays required, whichever server requires it', async () => {
    using hub = start();
    await hub.callToken.refresh();
    hub.apply({ ...networked, name: 'other' });
    await hub.callToken.refresh();
    assert.match(hub.callToken.current()?.why ?? '', /and other has a network/);
    assert.deepEqual([hub.ended.length, hub.levels()], [1, ['warn']]);
  });

  test('whose file cannot be read admits no caller until the file is repaired', async () => {
    using hub = start();
    writeFileSync(hub.file, 'no key');
    await hub.callToken.refresh();
    assert.deepEqual(hub.levels(), ['warn', 'error']);
    const unknown = hub.callToken.current()?.token;
    assert.match(unknown ?? '', /^[\w-]{43}$/);
    const key = 'k'.repeat(43);
    writeFileSync(hub.file, key);
    await hub.callToken.refresh();
    assert.equal(hub.callToken.current()?.token, key);
    assert.equal(hub.ended.length, 1);
  });
});
