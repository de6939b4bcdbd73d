import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import {
  appendFile,
  cp,
  readFile,
  readdir,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { copyTree } from '#helpers/tree';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

describe('the build of a clone', () => {
  let folder = '';
  let env: NodeJS.ProcessEnv = {};

  const at = (file: string) => join(folder, file);
  const allAt = (pattern: string) => globSync(pattern, { cwd: folder }).map(at);
  const node = async (...args: readonly string[]) =>
    await run(process.execPath, args, { cwd: folder, env });
  const prepare = async () => await node('scripts/prepare.mjs');
  const record = async (): Promise<{ readonly output: object; readonly builds: string[][] }> =>
    JSON.parse(await readFile(at('dist/build.json'), 'utf8'));

  /** Runs a command of the hub. Returns its stdout, and which modules it loaded. */
  async function loadedBy(command: string, ...args: readonly string[]) {
    const report = at('loaded.json');
    const hook = `
      import { registerHooks } from 'node:module';
      import { writeFileSync } from 'node:fs';
      const urls = [];
      registerHooks({
        resolve(name, context, next) {
          const found = next(name, context);
          urls.push(found.url);
          return found;
        },
      });
      process.once('exit', () => {
        if (!process.argv[1]?.endsWith('agenthub.mjs')) return;
        const isStripped = process.moduleLoadList.some(name => name.includes('amaro'));
        writeFileSync(${JSON.stringify(report)}, JSON.stringify({ urls, isStripped }));
      });
    `;
    const hooked = `--import=data:text/javascript,${encodeURIComponent(hook)}`;
    await rm(report, { force: true });
    const { stdout } = await run(command, args, {
      cwd: folder,
      env: { ...env, NODE_OPTIONS: hooked },
    });
    const { urls, isStripped } = JSON.parse(await readFile(report, 'utf8'));
    const isOf = (part: string) =>
      urls.some((url: string) => url.startsWith(pathToFileURL(at(part)).href));
    return { stdout, urls: urls.join('\n'), isStripped, runs: isOf('hub/') ? 'hub' : 'dist' };
  }
  const runs = async () => (await loadedBy(process.execPath, 'bin/agenthub.mjs', '--version')).runs;

  beforeAll(async () => {
    folder = await copyTree();
    // These programs are built in npm-start.test.ts. If they do not exist yet, this test builds them.
    for (const program of ['agent/agent.mjs', 'ollama-mcp/ollama-mcp.mjs'])
      if (existsSync(join(root, 'images', program)))
        await cp(join(root, 'images', program), at(join('images', program)));
    for (const name of ['edited', 'removed'])
      await writeFile(at(`hub/core/${name}.ts`), 'export const text = "first text";\n');
    // Not the cache in node_modules, which `npm start` would fill.
    env = { ...process.env, NODE_COMPILE_CACHE: at('cache'), DATA_DIR: at('data') };
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  test('does not exist at first: the sources are run', async () => {
    assert.equal(await runs(), 'hub');
  });

  test('is made by npm start, which runs it alone', async () => {
    const { stdout, runs: what, isStripped } = await loadedBy('npm', 'start', '--', '--help');
    assert.match(stdout, /agenthub serve/);
    assert.equal(what, 'dist');
    assert.equal(isStripped, false);
  });

  test('contains zod and jsonc-parser, and their licences', async () => {
    const { urls, runs: what } = await loadedBy(process.execPath, 'bin/agenthub.mjs', 'check');
    assert.equal(what, 'dist');
    assert.doesNotMatch(urls, /node_modules\/(?:zod|jsonc-parser)/);
    assert.match(await readFile(at('dist/LICENSE.zod'), 'utf8'), /MIT License[^]*Colin McDonnell/);
    assert.match(
      await readFile(at('dist/LICENSE.jsonc-parser'), 'utf8'),
      /MIT License[^]*Microsoft/,
    );
  });

  test('loads no logger for a command that writes no log', async () => {
    const { urls } = await loadedBy(process.execPath, 'bin/agenthub.mjs', 'check');
    assert.match(urls, /dist\/config-/);
    assert.doesNotMatch(urls, /node_modules\/pino/);
  });

  test.for([['completion', 'bash'], ['connect-stdio', '--help'], ['version']])(
    'loads no schemas for %j, which reads no config',
    async words => {
      const { urls } = await loadedBy(process.execPath, 'bin/agenthub.mjs', ...words);
      assert.match(urls, /dist\/main\.js/);
      assert.doesNotMatch(urls, /dist\/(?:zod|schemas|schema-parts|config-of)-/);
    },
  );

  test('has only one-byte characters, so that V8 keeps it in one byte each', () => {
    const files = allAt('dist/*.js');
    assert.ok(files.length > 10);
    const wide = files.filter(file => /[^\0-\xff]/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(wide, []);
  });

  test('imports no module that costs memory before its first use (decisions/0007)', () => {
    const costly =
      /^(?:node:https?|fastify|dockerode|ioredis|ollama|pino-pretty|ws|yaml|@opentelemetry\/.*|@qdrant\/.*)$/;
    const found = allAt('dist/*.js').flatMap(file =>
      [...readFileSync(file, 'utf8').matchAll(/^import [^;]*?"([^"]+)";/gm)]
        .filter(([, name = '']) => costly.test(name))
        .map(([, name]) => `${file.replace(/.*\/|-[\w-]{8}\.js$/g, '')} imports ${name}`),
    );
    assert.deepEqual(found, ['yaml imports yaml']);
  });

  test('is compiled in advance, including all that is loaded later', async () => {
    // Otherwise Node would now write the missing modules to its cache.
    const count = async () => (await readdir(at('cache'), { recursive: true })).length;
    const before = await count();
    await node(allAt('dist/installs-*.js')[0] ?? '');
    assert.equal(await count(), before);
  });

  // Asks the function with which a start decides whether the build can be run.
  const isCurrent = async () => {
    const { findBuild } = await import(pathToFileURL(at('bin/build.mjs')).href);
    return findBuild(folder) !== undefined;
  };

  /** Changes files. Returns a function that restores their content, with other times. */
  type Change = () => Promise<() => Promise<void>>;
  const inFile =
    (pattern: string, change: (file: string) => Promise<void>): Change =>
    async () => {
      const file = allAt(pattern)[0] ?? assert.fail(pattern);
      const content = await readFile(file);
      await change(file);
      return async () => await writeFile(file, content);
    };
  const edit = async (file: string) => {
    const { atime, mtime } = await stat(file);
    await writeFile(file, (await readFile(file, 'utf8')).replace('first text', 'other text'));
    await utimes(file, atime, mtime);
  };
  const changes: Readonly<Record<string, Change>> = {
    'a source that is edited and has its time of before': inFile('hub/core/edited.ts', edit),
    'a source that is added': async () => {
      await writeFile(at('hub/core/more.ts'), 'export {};\n');
      return async () => await rm(at('hub/core/more.ts'));
    },
    'a source that is removed': inFile('hub/core/removed.ts', async file => await rm(file)),
    'package.json': inFile('package.json', async file => await appendFile(file, '\n')),
    'a build without its entry': inFile('dist/main.js', async file => await rm(file)),
    'a build of which a file was cut off': inFile(
      'dist/app-*.js',
      async file => await truncate(file, 100),
    ),
  };

  /** Updates the file times in the record of the build, so that the restored files count as unchanged. */
  async function settle() {
    const { sourcesOf, timesOf } = await import(pathToFileURL(at('bin/build.mjs')).href);
    const { output, ...rest } = await record();
    const [sources, names] = [sourcesOf(folder), Object.keys(output)];
    const times = { sources: timesOf(folder, sources), output: timesOf(at('dist'), names) };
    await writeFile(at('dist/build.json'), JSON.stringify({ ...rest, ...times }));
  }

  for (const [what, change] of Object.entries(changes))
    test(`is not used after ${what}`, async () => {
      const undo = await change();
      try {
        assert.equal(await isCurrent(), false);
      } finally {
        await undo();
        await settle();
      }
      assert.equal(await isCurrent(), true);
    });

  test('is not used after all of these, until the next start has built it again', async () => {
    const content = async () =>
      await Promise.all(allAt('dist/{main,app-*}.js').map(file => readFile(file, 'utf8')));
    const before = await content();
    for (const change of Object.values(changes)) await change();
    assert.equal(await runs(), 'hub');
    await prepare();
    assert.equal(await runs(), 'dist');
    assert.deepEqual(await content(), before);
  });

  describe('with two starts that build at once', () => {
    const old = Array.from({ length: 10 }, (_, index) => [`old-${index}.js`]);
    let first: readonly string[] = [];

    beforeAll(async () => {
      const { builds, ...rest } = await record();
      [first = []] = builds;
      for (const [name = ''] of old) await writeFile(at(`dist/${name}`), '');
      await writeFile(at('dist/build.json'), JSON.stringify({ ...rest, builds: [first, ...old] }));
      await writeFile(at('hub/core/more.ts'), 'console.log("of the next build");\n');
      await appendFile(at('hub/core/index.ts'), "import './more.ts';\n");
      await Promise.all([prepare(), prepare()]);
    });

    test('is the same, and leaves no other files', async () => {
      assert.equal(await runs(), 'dist');
      assert.deepEqual(
        (await readdir(at('dist'))).filter(name => name.startsWith('.draft')),
        [],
      );
    });

    test('keeps the files of earlier builds for hubs that run from them, and does not pack them', async () => {
      const { output } = await record();
      const left = await readdir(at('dist'), { recursive: true });
      const names = Object.keys(output);
      assert.ok(first.some(name => !names.includes(name)));
      for (const name of first) assert.ok(left.includes(name), name);
      const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        cwd: folder,
        env,
      });
      const [packed] = JSON.parse(stdout);
      const inDist = packed.files.flatMap(({ path }: { readonly path: string }) =>
        path.startsWith('dist/') ? [path.slice('dist/'.length)] : [],
      );
      assert.deepEqual(inDist.toSorted(), names.toSorted());
    });

    test('removes files that only much older builds had', async () => {
      const left = (await readdir(at('dist'))).filter(name => name.startsWith('old-'));
      // Ten builds are kept: this one, the one before and eight of these.
      assert.deepEqual(left.toSorted(), old.slice(0, 8).flat().toSorted());
    });
  });

  test('fails if it would bundle other packages, and the sources are run', async () => {
    await appendFile(
      at('hub/core/index.ts'),
      "import ajv from 'ajv';\nprocess.once('exit', () => ajv);\n",
    );
    await assert.rejects(
      node('scripts/build.mjs'),
      /ajv\/\S+ would be bundled, and is no dependency/,
    );
    assert.equal(await runs(), 'hub');
  });
});
