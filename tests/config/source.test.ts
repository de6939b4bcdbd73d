import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, readFile, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import { type ConfigChange, type ConfigReading, createConfigSource, readConfig } from '#config';
import { type Clock, HubError, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog, until } from '#helpers/hub';
import { temporary } from './editing.ts';

const run = promisify(execFile);
const servers = (...names: readonly string[]) =>
  JSON.stringify({
    servers: Object.fromEntries(names.map(name => [name, { image: `${name}:1` }])),
  });

type Watching = AsyncDisposable & {
  readonly folder: string;
  readonly file: string;
  readonly source: ReturnType<typeof createConfigSource>;
  readonly changes: readonly ConfigChange[];
  /** Returns the messages of the log. */
  readonly said: () => readonly string[];
  /** Returns how often the config was read. */
  readonly reads: () => number;
  /** Waits until the config has these servers. */
  readonly has: (...names: readonly string[]) => Promise<void>;
};

type Options = {
  readonly pollMs?: number;
  readonly quietMs?: number;
  readonly files?: Readonly<Record<string, string>>;
  /** Name of the config file in the folder. Default: `hub.json`. */
  readonly file?: string;
  /** Runs in the folder before the first reading. */
  readonly prepare?: (folder: string) => Promise<void>;
};

/**
 * Creates a source of real files with the real clock. By default it polls once an hour, so it depends on file events.
 */
async function watching(options: Options = {}): Promise<Watching> {
  const { quietMs = 50, pollMs = 3_600_000 } = options;
  const folder = await temporary();
  const file = join(folder.path, options.file ?? 'hub.json');
  for (const [name, text] of Object.entries(options.files ?? { 'hub.json': servers('one') }))
    await writeFile(join(folder.path, name), text);
  await options.prepare?.(folder.path);
  const { log, logged } = createRecordingLog();
  let reads = 0;
  const read = async () => {
    const reading = await readConfig(file, { env: {}, home: folder.path });
    reads++;
    return reading;
  };
  const first = await read();
  assert.ok(first.config, first.error?.message);
  reads = 0;
  let timers = 0;
  const clock: Clock = {
    ...systemClock,
    after(delayMs, work) {
      timers++;
      let isPending = true;
      const over = () => {
        if (isPending) timers--;
        isPending = false;
      };
      const timer = systemClock.after(delayMs, () => {
        over();
        work();
      });
      return {
        refresh: () => timer.refresh(),
        [Symbol.dispose]() {
          over();
          timer[Symbol.dispose]();
        },
      };
    },
  };
  const source = createConfigSource(first, { read, clock, log }, { quietMs, pollMs });
  // The source checks the files once after each reading. For later changes, it depends on file events.
  const quiet = async () => {
    await until(() => timers <= 1);
    for (let turn = 0; turn < 3; turn++) await readFile(file).catch(() => {});
  };
  const changes: ConfigChange[] = [];
  source.changed(change => changes.push(change));
  await source.start(new AbortController().signal);
  await quiet();
  const names = () => source.current.servers.map(({ name }) => name).join();
  return {
    folder: folder.path,
    file,
    source,
    changes,
    said: () => logged.map(({ message }) => message),
    reads: () => reads,
    async has(...wanted) {
      await until(() => names() === wanted.join(), names);
      await quiet();
    },
    async [Symbol.asyncDispose]() {
      await source.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('the new content of a file that is saved is applied:', () => {
  type Save = (file: string, text: string) => Promise<void>;
  const ways: Readonly<Record<string, Save>> = {
    'truncated and written, as VS Code does': async (file, text) => await writeFile(file, text),
    'written beside and renamed over it': async (file, text) => {
      await writeFile(`${file}.tmp`, text);
      await rename(`${file}.tmp`, file);
    },
    'moved away as a backup and written anew, as vim does': async (file, text) => {
      await writeFile(join(file, '../4913'), '');
      await unlink(join(file, '../4913'));
      await rename(file, `${file}~`);
      await writeFile(file, text);
      await unlink(`${file}~`);
    },
    'deleted and written anew': async (file, text) => {
      await rm(file);
      await writeFile(file, text);
    },
    'by sed -i': async (file, text) => void (await run('sed', ['-i', `s#.*#${text}#`, file])),
  };
  for (const [way, save] of Object.entries(ways))
    test(way, async () => {
      await using config = await watching();
      for (const names of [['two'], ['two', 'three'], ['one']]) {
        await save(config.file, servers(...names));
        await config.has(...names);
      }
      assert.equal(config.source.status.error, undefined);
    });

  test.for([[], ['+set backupcopy=yes'], ['+set backup writebackup backupcopy=no']] as const)(
    'by vim, with %j',
    async (settings, { skip }) => {
      await using config = await watching();
      const edit = ['-es', '-u', 'NONE', ...settings, '+%s/one/two/g', '+wq', config.file];
      const failed = await run('vim', edit).then(
        () => false,
        () => true,
      );
      skip(failed, 'there is no vim');
      await config.has('two');
    },
  );

  test('in a folder that is replaced by another', async () => {
    await using config = await watching({
      file: 'configs/hub.json',
      pollMs: 50,
      async prepare(folder) {
        await mkdir(join(folder, 'configs'));
        await writeFile(join(folder, 'configs/hub.json'), servers('one'));
      },
    });
    const folder = join(config.folder, 'configs');
    await mkdir(`${folder}.new`);
    await writeFile(join(`${folder}.new`, 'hub.json'), servers('two'));
    await rename(folder, `${folder}.old`);
    await rename(`${folder}.new`, folder);
    await config.has('two');
    await writeFile(config.file, servers('three'));
    await config.has('three');
  });

  test('behind a link that is swapped, as Kubernetes does', async () => {
    const put = async (folder: string, version: string, text: string) => {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'hub.json'), text);
      await symlink(version, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    await using config = await watching({
      files: {},
      async prepare(folder) {
        await put(folder, '..2026_1', servers('one'));
        await symlink('..data/hub.json', join(folder, 'hub.json'));
      },
    });
    await put(config.folder, '..2026_2', servers('two'));
    await config.has('two');
    await put(config.folder, '..2026_3', servers('three'));
    await config.has('three');
  });

  test('mounted as a single file, where there are no events', async ({ skip }) => {
    await using outside = await temporary();
    const real = join(outside.path, 'real.json');
    await writeFile(real, servers('one'));
    let isMounted = false;
    await using config = await watching({
      pollMs: 50,
      async prepare(folder) {
        try {
          execFileSync('mount', ['--bind', real, join(folder, 'hub.json')], { stdio: 'pipe' });
          isMounted = true;
        } catch {
          // The test is skipped below.
        }
      },
    });
    if (!isMounted) return skip('this user may not mount');
    // A lazy unmount (-l), as a check of the file may be under way.
    using _ = { [Symbol.dispose]: () => void execFileSync('umount', ['-l', config.file]) };
    await writeFile(real, servers('two'));
    await config.has('two');
  });

  test('100 times in a row, with the last content', async () => {
    await using config = await watching();
    for (let save = 1; save <= 100; save++)
      await (Object.values(ways)[save % 4] ?? assert.fail())(config.file, servers(`s${save}`));
    await config.has('s100');
    assert.equal(config.source.status.error, undefined);
    assert.ok(!config.said().includes('the config is invalid: the last valid one stays active'));
  });

  test('as a file that another one extends, or begins to extend', async () => {
    await using config = await watching({
      files: {
        'hub.json': '{"extends": "base.json"}',
        'base.json': servers('one'),
        'other.json': servers('three'),
      },
    });
    const base = join(config.folder, 'base.json');
    await writeFile(base, servers('two'));
    await config.has('two');
    await writeFile(base, '{"extends": "other.json"}');
    await config.has('three');
    await writeFile(join(config.folder, 'other.json'), servers('four'));
    await config.has('four');
    assert.deepEqual(
      config.source.status.files.map(path => path.replace(`${config.folder}/`, '')),
      ['hub.json', 'base.json', 'other.json'],
    );
  });

  test('between the first reading and the start of the watch', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'hub.json');
    await writeFile(file, servers('one'));
    const read = async () => await readConfig(file, { env: {}, home: folder.path });
    const first = await read();
    assert.ok(first.config);
    await writeFile(file, servers('two'));
    const needs = { read, clock: systemClock, log: createRecordingLog().log };
    const source = createConfigSource(first, needs, { quietMs: 20 });
    await source.start(new AbortController().signal);
    await until(() => source.current.servers[0]?.name === 'two');
    await source.stop();
  });
});

test('a touch, a save of the same text and a new comment change no server', async () => {
  await using config = await watching({ pollMs: 20 });
  const text = await readFile(config.file, 'utf8');
  await utimes(config.file, new Date(), new Date());
  await writeFile(config.file, text);
  await writeFile(join(config.folder, 'hub.json.bak'), 'another file');
  await writeFile(config.file, `${text}\n// only a comment`);
  await until(() => config.reads() === 1);
  await writeFile(config.file, servers('two'));
  await config.has('two');
  assert.equal(config.reads(), 2, 'what has the same content is not read as a config');
  assert.equal(config.changes.length, 1);
});

test('a folder in place of the file is reported as a folder, at once or later', async () => {
  await using config = await watching();
  const says = (words: string) =>
    until(
      () => config.source.status.error?.message.includes(words) === true,
      () => config.source.status.error?.message ?? 'nothing is wrong',
    );
  await rm(config.file);
  await says('there is no such file');
  await mkdir(config.file);
  await says('it is a folder');
  await rm(config.file, { recursive: true });
  await says('there is no such file');
  await writeFile(config.file, servers('two'));
  await config.has('two');
});

test('a file that is half written is not reported until it is complete', async () => {
  await using config = await watching({ quietMs: 400 });
  const text = servers('two', 'three');
  const half = text.length / 2;
  await run('sh', [
    '-c',
    'printf %s "$1" > "$3"; sleep 0.1; printf %s "$2" >> "$3"',
    'sh',
    text.slice(0, half),
    text.slice(half),
    config.file,
  ]);
  await config.has('two', 'three');
  assert.deepEqual([config.reads(), config.changes.length], [1, 1]);
  assert.deepEqual(config.said(), []);
});

test('a file that is rewritten while it is read is not reported until that is finished', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  await writeFile(file, servers('one'));
  const readNow = async () => await readConfig(file, { env: {}, home: folder.path });
  const first = await readNow();
  assert.ok(first.config);
  let writing: Promise<void> | undefined;
  const read = async () => {
    if (writing) return await readNow();
    await writeFile(file, '');
    const reading = await readNow();
    writing = writeFile(file, servers('three'));
    return reading;
  };
  const { log, logged } = createRecordingLog();
  const needs = { read, clock: systemClock, log };
  await using source = disposable(createConfigSource(first, needs, { quietMs: 20 }));
  await source.start(new AbortController().signal);
  await writeFile(file, servers('two'));
  await until(() => source.current.servers[0]?.name === 'three');
  await writing;
  assert.deepEqual(logged, []);
});

test('an invalid file keeps the last valid state, and is reported once', async () => {
  await using config = await watching();
  const before = config.source.current;
  const loadedAt = config.source.status.loadedAt;
  await writeFile(config.file, '{"servers": {"two": {"imag": "x"}}}');
  await until(() => config.source.status.error !== undefined);
  const { error } = config.source.status;
  assert.match(error?.message ?? '', /hub\.json:1:22: servers\.two\.imag: unknown key/);
  assert.ok((error?.at ?? 0) >= loadedAt);
  const outcome = await config.source.reload();
  assert.ok(outcome.kind === 'refused' && outcome.error.code === 'HUB_CONFIG_INVALID');
  assert.deepEqual(config.source.status.error, error);
  assert.equal(config.source.current, before);
  assert.equal(config.source.status.loadedAt, loadedAt);
  const refusals = config.said().filter(message => message.includes('is invalid'));
  assert.equal(refusals.length, 1);
  await writeFile(config.file, servers('one'));
  await until(() => config.source.status.error === undefined);
  assert.ok(config.said().includes('the config is valid again'));
  assert.equal(config.changes.length, 0);
});

test('a file that is deleted keeps the last valid state until it exists again', async () => {
  await using config = await watching();
  await rm(config.file);
  await until(() => config.source.status.error !== undefined);
  assert.match(config.source.status.error?.message ?? '', /there is no such file/);
  assert.deepEqual(config.source.status.files, [config.file]);
  await writeFile(config.file, servers('two'));
  await config.has('two');
  assert.equal(config.source.status.error, undefined);
});

test('a change event has the difference', async () => {
  await using config = await watching();
  await writeFile(config.file, servers('one', 'two'));
  const outcome = await config.source.reload();
  assert.ok(outcome.kind === 'changed');
  assert.deepEqual(
    [outcome.difference.added, outcome.difference.unchanged].map(list => list.map(s => s.name)),
    [['two'], ['one']],
  );
  assert.equal(outcome.after, config.source.current);
  assert.deepEqual(await config.source.reload(), { kind: 'unchanged' });
  assert.equal(config.changes.length, 1);
});

describe('reloads by request', () => {
  const log = createRecordingLog().log;
  const reading = (name: string): ConfigReading => ({
    files: [],
    config: { servers: [], naming: { separator: '_', maxLength: name.length } },
  });
  const first = {
    files: [],
    config: { servers: [], naming: { separator: '_', maxLength: 46 } },
  } as const;

  test('run one at a time, and those requested meanwhile share the next', async () => {
    const pending: ((reading: ConfigReading) => void)[] = [];
    const read = async () =>
      await new Promise<ConfigReading>(resolve => void pending.push(resolve));
    const source = createConfigSource(first, { read, clock: systemClock, log });
    const [one, two, three] = [source.reload(), source.reload(), source.reload()];
    assert.equal(pending.length, 1);
    pending[0]?.(reading('a'));
    await one;
    await until(() => pending.length === 2);
    const four = source.reload();
    pending[1]?.(reading('bb'));
    assert.equal(await two, await three);
    await until(() => pending.length === 3);
    pending[2]?.(reading('bb'));
    assert.deepEqual(await four, { kind: 'unchanged' });
    assert.equal(source.current.naming.maxLength, 2);
  });

  test('resolve as refused when reading throws or a listener does', async () => {
    const outcomes: (() => Promise<ConfigReading>)[] = [
      () => Promise.reject(new HubError('HUB_USAGE', '--tags: no server has the tag "x"')),
      () => Promise.reject(new TypeError('a bug')),
      () => Promise.resolve(reading('abc')),
    ];
    const read = async () => await (outcomes.shift() ?? assert.fail)();
    const source = createConfigSource(first, { read, clock: systemClock, log });
    source.changed(() => {
      throw new Error('not applied');
    });
    const told = [await source.reload(), await source.reload(), await source.reload()];
    assert.deepEqual(
      told.map(outcome => (outcome.kind === 'refused' ? outcome.error.code : outcome.kind)),
      ['HUB_USAGE', 'HUB_INTERNAL', 'changed'],
    );
  });
});

test('a source that is stopped emits nothing, and closes its file descriptors', async ({
  skip,
}) => {
  skip(process.platform !== 'linux', 'descriptors are counted in /proc');
  const count = () => readdirSync('/proc/self/fd').length;
  // The first watch of a process opens a descriptor that all watches share.
  await (await watching())[Symbol.asyncDispose]();
  const before = count();
  const opened = await Promise.all(Array.from({ length: 20 }, async () => await watching()));
  assert.ok(count() - before < 20, 'descriptors are shared');
  const [config] = opened;
  assert.ok(config);
  await config.source.stop();
  await writeFile(config.file, servers('two'));
  await Promise.all(opened.map(async each => await each.source.stop()));
  await Promise.all(opened.map(async each => await each[Symbol.asyncDispose]()));
  assert.equal(config.reads(), 0);
  await until(() => count() <= before, count);
});

test('YAML that is truncated by a slow writer between servers removes no server', async () => {
  const yaml = (...names: readonly string[]) =>
    `servers:\n${names.map(name => `  ${name}: { image: "${name}:1" }\n`).join('')}`;
  await using folder = await temporary();
  const file = join(folder.path, 'hub.yaml');
  await writeFile(file, yaml('one', 'two', 'three'));
  const read = async () => await readConfig(file, { env: {}, home: folder.path });
  const first = await read();
  assert.ok(first.config);
  const clock = createManualClock();
  const { log } = createRecordingLog();
  await using source = disposable(createConfigSource(first, { read, clock, log }));
  await source.start(new AbortController().signal);
  const pass = async (milliseconds: number) => {
    for (let passedMs = 0; passedMs < milliseconds; passedMs += 100) {
      clock.advance(100);
      // A check reads the disk twice, and the disk serves reads in order.
      for (let turn = 0; turn < 5; turn++) await readFile(file);
    }
  };
  const names = () => source.current.servers.map(({ name }) => name).join();
  // An empty file is refused. The length of later texts is not compared with its length.
  await writeFile(file, '');
  assert.equal((await source.reload()).kind, 'refused');
  await writeFile(file, yaml('two'));
  await pass(1_500);
  assert.equal(names(), 'one,two,three');
  await writeFile(file, yaml('two', 'one', 'three'));
  await pass(300);
  await until(() => names() === 'two,one,three', names);
  // A shorter text is applied once it has stayed the same for long enough.
  await writeFile(file, yaml('one'));
  await pass(6_000);
  await until(() => names() === 'one', names);
});

const disposable = (source: ReturnType<typeof createConfigSource>) => ({
  ...source,
  get current() {
    return source.current;
  },
  [Symbol.asyncDispose]: () => source.stop(),
});
