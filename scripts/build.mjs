// Builds dist/: the hub bundled into a few JavaScript files. They load faster than the sources, and run under
// node_modules, where Node strips no types. Run by prepare.mjs in a clone, and before `npm pack`.
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
/** Packages that consist of many small files and are loaded at every start. All others are loaded from node_modules. */
const bundled = ['jsonc-parser', 'zod'];
/**
 * Number of builds whose files are kept: a running hub loads some of its files on first use, even after later builds.
 */
const keptBuilds = 10;
const draftPrefix = '.draft-';
const maxDraftMs = 60 * 60_000;

mkdirSync(dist, { recursive: true });
const draft = mkdtempSync(path.join(dist, draftPrefix));
try {
  // Read the times before the sources: a file that is saved during the build then makes the build out of date.
  const sources = timesOf(root, sourcesOf(root));
  const files = { ...assets(), ...licences(), ...(await chunks()) };
  const names = Object.keys(files);
  const builds = [names, ...earlierBuilds(names)].slice(0, keptBuilds);
  // npm must pack neither the files of other builds nor the record.
  files[ignore] = ['/*', ...topsOf(names).map(name => `!/${name}`), ''].join('\n');
  for (const [name, content] of Object.entries(files)) put(name, content);
  put(record, JSON.stringify({ sources, output: timesOf(dist, names), builds }));
  prune(topsOf([...builds.flat(), ignore, record]));
} finally {
  rmSync(draft, { recursive: true, force: true });
}

/**
 * Resolves with the code by file name. File names contain a hash of the content, except that of the entry, which is the
 * last one.
 */
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
    // The "main" of jsonc-parser is a UMD build, whose requires cannot be resolved in a bundle.
    resolve: { mainFields: ['module', 'main'] },
    tsconfig: false,
    // The door of config then loads only the files whose exports are used: few commands need its schemas.
    treeshake: { moduleSideEffects: id => path.dirname(id) !== path.join(root, 'hub', 'config') },
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
    // The entry runs until the hub ends: a chunk that imports the entry would wait until then.
    if (imports.includes(entry)) throw new Error(`${fileName} imports ${entry}`);
  }
  return Object.fromEntries(
    output.toReversed().map(({ fileName, code }) => [fileName, latin1Of(code)]),
  );
}

/**
 * Escapes characters outside Latin-1, which occur only in strings and regular expressions. V8 keeps each source in
 * memory, and uses two bytes for every character of a file that contains one outside Latin-1.
 */
function latin1Of(code) {
  return code.replaceAll(
    /[^\0-\xff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Returns the assets of pages and the prompts of tasks, by their paths in dist/. The code loads them relative to
 * itself.
 */
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
      const folder = path.join(root, 'node_modules', name);
      const [file] = globSync('LICENSE*', { cwd: folder });
      return [`LICENSE.${name}`, readFileSync(path.join(folder, file))];
    }),
  );
}

/** Returns the file names of each earlier build, newest first. Empty if the record is missing or unreadable. */
function earlierBuilds(names) {
  try {
    const { builds } = JSON.parse(readFileSync(recordOf(root), 'utf8'));
    return builds.filter(build => build.join() !== names.join());
  } catch {
    return [];
  }
}

/** Writes a file atomically. Does not write an equal file again: the record of its build contains the file's time. */
function put(name, content) {
  const file = path.join(dist, name);
  try {
    if (readFileSync(file).equals(Buffer.from(content))) return;
  } catch {
    // The file does not exist yet.
  }
  mkdirSync(path.dirname(file), { recursive: true });
  const written = path.join(draft, path.basename(name));
  writeFileSync(written, content);
  renameSync(written, file);
}

/** Removes files that belong to no kept build, and draft folders of killed builds. */
function prune(kept) {
  const isDraft = name =>
    name.startsWith(draftPrefix) &&
    Date.now() - statSync(path.join(dist, name)).mtimeMs < maxDraftMs;
  for (const name of readdirSync(dist))
    if (!kept.includes(name) && !isDraft(name))
      rmSync(path.join(dist, name), { recursive: true, force: true });
}

/** Returns the first segments of paths: the entries of dist/ itself. */
function topsOf(names) {
  return [...new Set(names.map(name => name.split('/')[0]))];
}

/** Returns the package of an import path: `zod` for `zod/v4`, `@opentelemetry/api` for itself. */
function packageOf(id) {
  return /^(?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0];
}
