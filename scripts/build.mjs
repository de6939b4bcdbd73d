// Makes dist/: the hub as few files of JavaScript. A start links them in less time than the sources, and they run under
// node_modules, where Node strips no types. Run by prepare.mjs for the clone, and before `npm pack`.
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
/** Number of builds whose files are kept: a running hub loads some of its files on first use, even after later builds. */
const keptBuilds = 10;
const draftPrefix = '.draft-';
const maxDraftMs = 60 * 60_000;

mkdirSync(dist, { recursive: true });
const draft = mkdtempSync(path.join(dist, draftPrefix));
try {
  // Before the sources are read: a file that is saved during the build is not in it.
  const sources = timesOf(root, sourcesOf(root));
  const files = { ...assets(), ...licences(), ...(await chunks()) };
  const names = Object.keys(files);
  const builds = [names, ...earlierBuilds(names)].slice(0, keptBuilds);
  // npm packs neither other builds nor the record.
  files[ignore] = ['/*', ...topsOf(names).map(name => `!/${name}`), ''].join('\n');
  for (const [name, content] of Object.entries(files)) put(name, content);
  put(record, JSON.stringify({ sources, output: timesOf(dist, names), builds }));
  prune(topsOf([...builds.flat(), ignore, record]));
} finally {
  rmSync(draft, { recursive: true, force: true });
}

/** The code by file names. The names contain hashes of the content, except that of the entry, which comes last. */
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
    // The entry runs until the hub ends: a file that imports it would wait for that.
    if (imports.includes(entry)) throw new Error(`${fileName} imports ${entry}`);
  }
  return Object.fromEntries(
    output.toReversed().map(({ fileName, code }) => [fileName, latin1Of(code)]),
  );
}

/**
 * The code with escapes for characters outside of Latin-1, which occur only in strings and regular expressions. V8 keeps
 * each source in memory, and one such character makes it use two bytes for every character of the file.
 */
function latin1Of(code) {
  return code.replaceAll(
    /[^\0-\xff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The files that pages load, and the prompts of tasks. They are beside the code, which looks for them there. */
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

/** The files of earlier builds, newest first. None if the record is missing or unreadable. */
function earlierBuilds(names) {
  try {
    const { builds } = JSON.parse(readFileSync(recordOf(root), 'utf8'));
    return builds.filter(build => build.join() !== names.join());
  } catch {
    return [];
  }
}

/** Writes a file completely or not at all. Leaves an equal file alone: the record of its build contains its time. */
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

/** Removes files that belong to no kept build, and folders that killed builds left. */
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
