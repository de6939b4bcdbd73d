// Makes dist/: the hub as few files of JavaScript, which a start links in less time than its 300 sources, and which run
// under node_modules, where Node strips no types. Run by prepare.mjs for the clone, and before `npm pack`.
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { recordOf, sourcesOf, timesOf } from '../bin/build.mjs';

const root = path.dirname(import.meta.dirname);
const dist = path.join(root, 'dist');
const entry = 'main.js';
const record = path.basename(recordOf(root));
const ignore = '.npmignore';
/** Packages of many small files that every start loads. All others are loaded from node_modules. */
const bundled = ['jsonc-parser', 'zod'];
/** A hub that runs loads files of its build with their first use, though it may have been built again meanwhile. */
const keptBuilds = 10;
const draftPrefix = '.draft-';
const maxDraftMs = 60 * 60_000;

mkdirSync(dist, { recursive: true });
const draft = mkdtempSync(path.join(dist, draftPrefix));
try {
  // Before they are read: what is saved meanwhile is not in this build.
  const sources = timesOf(root, sourcesOf(root));
  const files = { ...assets(), ...licences(), ...(await chunks()) };
  const names = Object.keys(files);
  const builds = [names, ...earlierBuilds(names)].slice(0, keptBuilds);
  // What npm packs: neither other builds nor the record.
  files[ignore] = ['/*', ...topsOf(names).map(name => `!/${name}`), ''].join('\n');
  for (const [name, content] of Object.entries(files)) put(name, content);
  put(record, JSON.stringify({ sources, output: timesOf(dist, names), builds }));
  prune(topsOf([...builds.flat(), ignore, record]));
} finally {
  rmSync(draft, { recursive: true, force: true });
}

/** The code by the names of files, which change with what is in them, but for the entry: it comes last. */
async function chunks() {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const { dependencies, optionalDependencies } = manifest;
  const external = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    name => !bundled.includes(name),
  );
  const bundle = await rolldown({
    cwd: root,
    input: path.join(root, 'hub', 'main.ts'),
    platform: 'node',
    // jsonc-parser has a UMD build as 'main', whose parts cannot be found in a bundle.
    resolve: { mainFields: ['module', 'main'] },
    tsconfig: false,
    external: id => id.startsWith('node:') || external.includes(packageOf(id)),
  });
  const { output } = await bundle.generate({
    entryFileNames: entry,
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await bundle.close();
  for (const { fileName, moduleIds, imports } of output) {
    const packages = moduleIds.map(id => id.split(/[\\/]node_modules[\\/]/)[1]).filter(Boolean);
    const foreign = packages.find(inside => !bundled.includes(packageOf(inside)));
    if (foreign) throw new Error(`${foreign} would be bundled, and is no dependency`);
    // The entry ends with the hub, and so who imports it would wait for ever.
    if (imports.includes(entry)) throw new Error(`${fileName} imports ${entry}`);
  }
  return Object.fromEntries(
    output.toReversed().map(({ fileName, code }) => [fileName, latin1Of(code)]),
  );
}

/**
 * The code with escapes for what is not in Latin-1, which stands in strings and regular expressions only: V8 keeps each
 * source in memory, and one such character makes it keep two bytes for each of its characters.
 */
function latin1Of(code) {
  return code.replaceAll(
    /[^\0-\xff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** What pages load, and the prompts of tasks. Beside the code, which looks for them there. */
function assets() {
  const found = globSync('hub/*/{assets,prompts}/*', { cwd: root });
  return Object.fromEntries(
    found.map(file => [
      `${path.basename(path.dirname(file))}/${path.basename(file)}`,
      readFileSync(path.join(root, file)),
    ]),
  );
}

function licences() {
  return Object.fromEntries(
    bundled.map(name => {
      const [file] = globSync(path.join(root, 'node_modules', name, 'LICENSE*'));
      return [`LICENSE.${name}`, readFileSync(file)];
    }),
  );
}

/** The files of the builds before, newest first; none where that is not known. */
function earlierBuilds(names) {
  try {
    const { builds } = JSON.parse(readFileSync(recordOf(root), 'utf8'));
    return builds.filter(build => build.join() !== names.join());
  } catch {
    return [];
  }
}

/** Writes a file whole or not at all, and not where it is there: its time is in the record of who has made it. */
function put(name, content) {
  const file = path.join(dist, name);
  try {
    if (readFileSync(file).equals(Buffer.from(content))) return;
  } catch {
    // It is new.
  }
  mkdirSync(path.dirname(file), { recursive: true });
  const written = path.join(draft, path.basename(name));
  writeFileSync(written, content);
  renameSync(written, file);
}

/** Removes what no build has that is kept, and what builds left that were killed. */
function prune(kept) {
  const isDraft = name =>
    name.startsWith(draftPrefix) &&
    Date.now() - statSync(path.join(dist, name)).mtimeMs < maxDraftMs;
  for (const name of readdirSync(dist))
    if (!kept.includes(name) && !isDraft(name))
      rmSync(path.join(dist, name), { recursive: true, force: true });
}

/** The names in dist/ itself. */
function topsOf(names) {
  return [...new Set(names.map(name => name.split('/')[0]))];
}

/** `zod` of `zod/v4`, `@opentelemetry/api` of itself. */
function packageOf(id) {
  return /^(?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
}
