import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { appendFile, readFile, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { copyTree } from '#helpers/tree';

const run = promisify(execFile);

describe('the build of a clone', () => {
  let folder = '';
  let env: NodeJS.ProcessEnv = {};

  const at = (file: string) => join(folder, file);
  const node = async (...args: readonly string[]) =>
    await run(process.execPath, args, { cwd: folder, env });
  const prepare = async () => await node('scripts/prepare.mjs');
  const record = async (): Promise<{ readonly output: object; readonly builds: string[][] }> =>
    JSON.parse(await readFile(at('dist/build.json'), 'utf8'));

  /** What a command of the hub loads. */
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
    // Not that of the packages' folder, which is another's.
    env = { ...process.env, NODE_COMPILE_CACHE: at('cache'), DATA_DIR: at('data') };
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  test('does not exist in the beginning: the sources are run', async () => {
    assert.equal(await runs(), 'hub');
  });

  test('is made by npm start, which runs it alone', async () => {
    const { stdout, runs: what, isStripped } = await loadedBy('npm', 'start', '--', '--help');
    assert.match(stdout, /agenthub serve/);
    assert.equal(what, 'dist');
    assert.equal(isStripped, false);
  });

  test('has zod and jsonc-parser in it, and their licences', async () => {
    const { urls, runs: what } = await loadedBy(process.execPath, 'bin/agenthub.mjs', 'check');
    assert.equal(what, 'dist');
    assert.doesNotMatch(urls, /node_modules\/(?:zod|jsonc-parser)/);
    assert.match(await readFile(at('dist/LICENSE.zod'), 'utf8'), /MIT License[^]*Colin McDonnell/);
    assert.match(
      await readFile(at('dist/LICENSE.jsonc-parser'), 'utf8'),
      /MIT License[^]*Microsoft/,
    );
  });

  test('has sources that V8 keeps with one byte for each character', () => {
    const files = globSync(at('dist/*.js'));
    assert.ok(files.length > 10);
    const wide = files.filter(file => /[^\0-\xff]/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(wide, []);
  });

  test('imports nothing that costs memory before it is used (decisions/0007)', () => {
    const costly =
      /^(?:node:https?|fastify|dockerode|ioredis|ollama|pino-pretty|ws|yaml|@opentelemetry\/.*|@qdrant\/.*)$/;
    const found = globSync(at('dist/*.js')).flatMap(file =>
      [...readFileSync(file, 'utf8').matchAll(/^import [^;]*?"([^"]+)";/gm)]
        .filter(([, name = '']) => costly.test(name))
        .map(([, name]) => `${file.replace(/.*\/|-[\w-]{8}\.js$/g, '')} imports ${name}`),
    );
    assert.deepEqual(found, ['yaml imports yaml']);
  });

  test('is compiled beforehand with all that is loaded later', async () => {
    // Else what is not in the cache would be written there now.
    const count = async () => (await readdir(at('cache'), { recursive: true })).length;
    const before = await count();
    await node(globSync(at('dist/installs-*.js'))[0] ?? '');
    assert.equal(await count(), before);
  });

  const longAgo = new Date('2020-01-01');
  const editSource = async (edit: (source: string) => string) => {
    const file = at('hub/core/clock.ts');
    await writeFile(file, edit(await readFile(file, 'utf8')));
    await utimes(file, longAgo, longAgo);
  };

  test('is not run after a source that is edited, until the next start has built it again', async () => {
    await editSource(source => `${source}// edited\n`);
    assert.equal(await runs(), 'hub');
    await prepare();
    assert.equal(await runs(), 'dist');
  });

  // Asks the function that decides what a start runs, and whether it builds.
  const isCurrent = async () => {
    const { findBuild } = await import(pathToFileURL(at('bin/build.mjs')).href);
    return findBuild(folder) !== undefined;
  };
  const changes: Readonly<Record<string, () => Promise<void>>> = {
    'a source that is edited and has its time of before': async () =>
      await editSource(source => source.replace('edited', 'EDITED')),
    'a source that is added': async () => await writeFile(at('hub/core/more.ts'), 'export {};\n'),
    'a source that is removed': async () => await rm(at('hub/core/more.ts')),
    'package.json': async () => await appendFile(at('package.json'), '\n'),
    'a build without its entry': async () => await rm(at('dist/main.js')),
    'a build of which a file was cut off': async () =>
      await truncate(globSync(at('dist/app-*.js'))[0] ?? '', 100),
  };
  for (const [what, change] of Object.entries(changes))
    test(`is not run after ${what}, until the next start has built it again`, async () => {
      await change();
      assert.equal(await isCurrent(), false);
      await node('scripts/build.mjs');
      assert.equal(await isCurrent(), true);
    });

  test('is the same where two starts make it at once, and nothing else is left', async () => {
    await appendFile(at('hub/core/clock.ts'), 'export const twice = 2;\n');
    await Promise.all([prepare(), prepare()]);
    assert.equal(await runs(), 'dist');
    assert.deepEqual(
      (await readdir(at('dist'))).filter(name => name.startsWith('.draft')),
      [],
    );
  });

  test('leaves the files of those before to hubs that run from them, and does not pack them', async () => {
    const [first = []] = (await record()).builds;
    await writeFile(at('hub/core/more.ts'), 'console.log("of the next build");\n');
    await appendFile(at('hub/core/index.ts'), "import './more.ts';\n");
    await prepare();
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

  test('removes what only builds long before had', async () => {
    const { builds, ...rest } = await record();
    const old = Array.from({ length: 10 }, (_, index) => [`old-${index}.js`]);
    for (const [name = ''] of old) await writeFile(at(`dist/${name}`), '');
    await writeFile(
      at('dist/build.json'),
      JSON.stringify({ ...rest, builds: [...builds.slice(0, 1), ...old] }),
    );
    await node('scripts/build.mjs');
    const left = (await readdir(at('dist'))).filter(name => name.startsWith('old-'));
    assert.deepEqual(left.toSorted(), old.slice(0, 9).flat().toSorted());
  });

  test('is none where it would have other packages in it, and the sources are run', async () => {
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
